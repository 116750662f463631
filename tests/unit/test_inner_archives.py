"""Platforms deliver a folder with a zip in it, and often with a report beside the zip."""

import archives
import pytest
from archives import tar_of

from grader import submission as submissions
from grader.errors import UsageError
from grader.listing import entries

WANTED = ["ring.py", "report.pdf"]
CODE = {"ring.py": b"x = 1"}


def zip_of(files):
    return archives.zip_of(*files.items())


def read(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return submissions.read(folder, WANTED)


@pytest.mark.parametrize(
    "packed",
    [
        zip_of(CODE),
        zip_of({"hw1/ring.py": b"x = 1", "__MACOSX/hw1/._ring.py": b""}),
        tar_of(("ring.py", b"x = 1"), packed="gz"),
    ],
)
@pytest.mark.parametrize("name", ["code.zip", "Ann Lee/Code.ZIP"])
def test_code_in_an_archive_and_a_report_beside_it(tmp_path, packed, name):
    """How the archive is made is seen by its bytes, whatever its name."""
    report = name.replace(name.rpartition("/")[2], "report.pdf")
    found = read(tmp_path, {name: packed, report: b"%PDF"})
    assert found.files == {**CODE, "report.pdf": b"%PDF"}
    assert f"{name} was opened: no script lies beside it" in found.notes


def test_an_archive_in_an_archive_is_opened_once(tmp_path):
    """Two times packed is a habit of some; a third time is an archive that nobody opens."""
    outer = zip_of({"code.zip": zip_of(CODE)})
    (tmp_path / "twice.zip").write_bytes(outer)
    assert dict(submissions.read(tmp_path / "twice.zip", WANTED).files) == CODE
    (tmp_path / "thrice.zip").write_bytes(zip_of({"more.zip": outer}))
    assert "ring.py" not in submissions.read(tmp_path / "thrice.zip", WANTED).files


def test_beside_scripts_an_archive_is_not_opened(tmp_path):
    """It is what somebody has left there: an older version, or data."""
    found = read(tmp_path, {"ring.py": b"x = 2", "old.zip": zip_of(CODE)})
    assert found.files["ring.py"] == b"x = 2"
    assert not any("opened" in note for note in found.notes)


def test_parts_in_several_archives_are_put_together(tmp_path):
    """As long as no script is in two of them."""
    found = read(tmp_path, {"a.zip": zip_of(CODE), "b.zip": zip_of({"help.py": b""})})
    assert sorted(found.files) == ["help.py", "ring.py"]


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"hw.rar": b"Rar!"}, "holds no script, and hw.rar, which cannot be opened; make a zip"),
        ({"hw.7z": b"7z", "report.pdf": b""}, "hw.7z, which cannot be opened"),
        ({"a.zip": zip_of(CODE), "b.zip": zip_of(CODE)}, "a.zip and b.zip both hold ring.py"),
        (
            {"a.zip": zip_of({**CODE, "report.pdf": b"1"}), "b.zip": zip_of({"report.pdf": b"2"})},
            "a.zip and b.zip both hold report.pdf",
        ),
        ({"hw.zip": b"PK nothing"}, "hw.zip cannot be unpacked as a zip"),
        ({f"{n}.zip": b"" for n in range(11)}, "holds 11 archives and no script"),
        (
            {"hw.zip": bytes(entries.MAX_FILE_NUM_BYTES + 1)},
            "no script that is read: hw.zip is larger than",
        ),
    ],
)
def test_what_cannot_be_opened_is_said_and_is_no_empty_hand_in(tmp_path, files, sentence):
    """Nobody is given no points for files that nobody has looked at."""
    with pytest.raises(UsageError, match=sentence):
        read(tmp_path, files)
