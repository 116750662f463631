"""Observe, then judge: the same report, a mark only where the course has signed it."""

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from grader import cli
from grader.commands.recorder import kept_launches
from grader.grading import observing
from grader.model.errors import GraderError
from grader.recording.recording import read, write

ROOT = Path(__file__).resolve().parents[3]
LABEL = ROOT / "tests/submissions/wrong_answer/mpi_sgd/naive_mean_instead_of_sum"
KEY = b"0123456789abcdef0123456789abcdef"
MARK, FEEDBACK = "container", "local"


def main(arguments):
    """Return how a command ends that is not watched by another process."""
    try:
        return cli.run(arguments)
    except GraderError as error:
        print(f"grade: {error}", file=sys.stderr)
        return error.exit_code


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return what `grade observe` writes of a submission, and the report of the same run."""
    folder = tmp_path_factory.mktemp("recorded")
    file, report = folder / "naive.rec", folder / "report.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        options = ["--part", "naive_allreduce", "--recording", str(file)]
        assert main(["check", str(LABEL), *options, "--json", str(report)]) == 1
        kept = {key: kept_launches().find(key) for key in read(file).launches}
    assert kept == read(file).launches
    return file, json.loads(report.read_text())


@pytest.fixture
def no_ranks(monkeypatch):
    """Make it an error to start any."""

    def launch(plan, *others, **options):
        raise AssertionError("ranks were started")

    monkeypatch.setattr(observing, "launch", launch)


@pytest.fixture
def key(tmp_path, monkeypatch):
    file = tmp_path / "recording.key"
    file.touch(mode=0o600)
    file.write_bytes(KEY)
    monkeypatch.setenv("GRADER_RECORDING_KEY_FILE", str(file))
    return file


def judged(file, *options, folder=LABEL, code=1):
    """Return the report of a recording."""
    report = file.with_suffix(".json")
    command = ["judge", str(folder), "--part", "naive_allreduce", "--recording", str(file)]
    assert main([*command, "--json", str(report), *options]) == code
    return json.loads(report.read_text()) if report.exists() else None


def test_a_recording_is_judged_as_the_run_was(recorded, no_ranks):
    """Verdicts, points and sentences; it is feedback, for nobody has signed it."""
    file, live = recorded
    found = judged(file)
    (part,), (same,) = live["parts"], found["parts"]
    for name in ("verdict", "points", "message", "tests"):
        assert part[name] == same[name]
    assert found["mode"] == FEEDBACK
    assert any("feedback, not a mark" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("host", "signed_with", "mode"),
    [
        ("sealed", KEY, MARK),
        ("sealed", None, FEEDBACK),
        ("sealed", b"another key of a length that will do", FEEDBACK),
        ("local", KEY, FEEDBACK),
    ],
)
def test_only_a_signed_recording_of_a_sealed_grading_is_a_mark(
    recorded, no_ranks, key, tmp_path, host, signed_with, mode, capsys
):
    """Everything else could have been written by anybody."""
    file = tmp_path / "naive.rec"
    recording = read(recorded[0])
    made = replace(recording, header=replace(recording.header, host=host, notes=("a note",)))
    write(file, made, signed_with)
    found = judged(file)
    assert found["mode"] == mode
    assert "a note" in found["notes"]
    file.with_suffix(".json").unlink()
    judged(file, "--require-mark", code=1 if mode == MARK else 3)
    assert ("cannot give a mark" in capsys.readouterr().err) == (mode == FEEDBACK)


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"observer": "0" * 32}, 2, "was recorded by the observer 0000"),
        ({"submission": "f" * 64}, 2, "have changed since"),
        ({"course": "another"}, 2, "was recorded for the course another"),
        ({"is_whole": False}, 3, "is incomplete, because its grading had too many launches"),
    ],
)
def test_a_recording_of_something_else_is_one_sentence(
    recorded, no_ranks, tmp_path, changes, code, words, capsys
):
    """Of another observer, submission or course; or not all of it."""
    file = tmp_path / "naive.rec"
    recording = read(recorded[0])
    write(file, replace(recording, header=replace(recording.header, **changes)))
    judged(file, code=code)
    said = capsys.readouterr().err.strip()
    assert words in said and len(said.splitlines()) == 1


def test_a_missing_launch_is_one_sentence(recorded, no_ranks, tmp_path, capsys):
    """It names the nearest one that is there."""
    file = tmp_path / "naive.rec"
    recording = read(recorded[0])
    launches = dict([*recording.launches.items()][1:])
    write(file, replace(recording, launches=launches))
    judged(file, code=3)
    said = capsys.readouterr().err.strip()
    assert "the recording does not have the launch on" in said and "differs in" in said
    assert len(said.splitlines()) == 1


def test_a_flipped_bit_of_a_launch_is_one_sentence(recorded, no_ranks, tmp_path, capsys):
    """Whatever it makes of the launch, it is no mark."""
    file = tmp_path / "naive.rec"
    content = bytearray(recorded[0].read_bytes())
    content[content.index(b'{"observed"')] ^= 1
    file.write_bytes(content)
    judged(file, code=3)
    said = capsys.readouterr().err.strip()
    assert "a recorded launch cannot be read" in said and len(said.splitlines()) == 1


def test_an_older_observers_recording_is_judged_on_request(recorded, no_ranks, key, tmp_path):
    """To compare judges; it makes no mark, whoever has signed it."""
    file = tmp_path / "naive.rec"
    recording = read(recorded[0])
    header = replace(recording.header, observer="0" * 32, host="sealed")
    write(file, replace(recording, header=header), KEY)
    assert judged(file, "--observer", "0" * 32)["mode"] == FEEDBACK


def test_the_last_check_is_shown_without_another_run(recorded, no_ranks, capsys):
    """By its recording."""
    command = ["trace", str(LABEL), "--part", "naive_allreduce", "--recording", str(recorded[0])]
    assert main([*command, "--plain"]) == 0
    assert "rank 0" in capsys.readouterr().out


def test_cases_on_some_ranks_are_shown_of_a_recording_of_all(recorded, no_ranks, capsys):
    """It is judged as a whole: a rule looks at launches on other numbers of ranks as well."""
    command = ["trace", str(LABEL), "--part", "naive_allreduce", "--recording", str(recorded[0])]
    for ranks in ("2", "3"):
        assert main([*command, "--ranks", ranks, "--plain"]) == 0
        said = capsys.readouterr().out
        assert f": {ranks} ranks" in said
        assert set(re.findall(r"(\d+) ranks, started", said)) == {ranks}
    assert main([*command, "--ranks", "99", "--plain"]) == 2
    assert "has no run of naive_allreduce on 99 ranks" in capsys.readouterr().err


def test_a_submission_never_runs_as_who_can_read_the_key(key, capsys):
    """It could sign what it likes."""
    for command in ("check", "observe"):
        options = ["--recording", os.devnull] if command == "observe" else []
        assert main([command, str(LABEL), *options]) == 2
        assert "could read the course's key" in capsys.readouterr().err
