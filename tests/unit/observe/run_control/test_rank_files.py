"""Of a stack dump only places in files that were handed in are believed."""

import os
from contextlib import closing

import pytest

from grader.observe.run_control.rank_files import RankFiles


def place_of(dump: str, folder) -> tuple[str, int] | None:
    files = RankFiles.create()
    try:
        os.write(files.stacks, dump.encode())
        return files.place(str(folder))
    finally:
        files.close()


def test_the_innermost_frame_of_the_submission_is_the_place(tmp_path):
    """Frames of libraries above it are passed over."""
    (tmp_path / "ring.py").touch()
    dump = f'File "/lib/x.py", line 3 in y\n  File "{tmp_path}/ring.py", line 12 in go\n'
    assert place_of(dump, tmp_path) == ("ring.py", 12)


def test_the_last_stack_that_shows_a_line_of_the_submission_is_taken(tmp_path):
    """A process that a rank has forked writes after it, and may be inside a library."""
    (tmp_path / "ring.py").touch()
    rank = f'Stack (most recent call first):\n  File "{tmp_path}/ring.py", line 12 in go\n'
    forked = rank.replace("12", "7")
    library = 'Stack (most recent call first):\n  File "/lib/x.py", line 3 in y\n'
    assert place_of(rank + forked, tmp_path) == ("ring.py", 7)
    assert place_of(rank + library, tmp_path) == ("ring.py", 12)
    assert place_of(f"{rank}Fatal Python error: Aborted\n\n{library}", tmp_path) is None


@pytest.mark.parametrize("name", ["../secret.py", "not_there.py", "x" * 300, "a\0b", "<b>.py"])
def test_a_place_that_no_file_has_is_none(name, tmp_path):
    """A rank can write what it likes where the judge reads its stack."""
    folder = tmp_path / "submission"
    folder.mkdir()
    (tmp_path / "secret.py").touch()
    assert place_of(f'File "{folder}/{name}", line 7 in x\n', folder) is None


@pytest.mark.parametrize("number", ["", "x", "-1", "\u00b2", 5000 * "9"])
def test_a_line_that_no_file_has_is_none(number, tmp_path):
    """Nor does a number without end cost the grading."""
    (tmp_path / "ring.py").touch()
    assert place_of(f'File "{tmp_path}/ring.py", line {number} in x\n', tmp_path) is None


def test_a_crash_is_told_from_a_stack_that_was_asked_for(tmp_path):
    """Ranks that stand still are asked where they are, also while another one crashes."""
    (tmp_path / "ring.py").touch()
    here = f'  File "{tmp_path}/ring.py", line 12 in go\n'
    deep = '  File "/lib/x.py", line 3 in y\n' * 400
    asked = f"Current thread 0x1 (most recent call first):\n{here}"
    for dump, is_crash in ((asked, False), (f"Fatal Python error: Aborted\n\n{here}{deep}", True)):
        with closing(RankFiles.create()) as files:
            os.write(files.stacks, dump.encode())
            assert files.tells_a_crash() == is_crash
            assert files.place(str(tmp_path)) == ("ring.py", 12)
