"""Platforms deliver a folder with a zip in it, and often with a report beside the zip."""

import json
import tarfile
import zipfile

import archives
import pytest
from archives import tar_of

from grader.intake import submission as submissions
from grader.intake import submission_codec
from grader.intake.archives import entries
from grader.model.errors import UsageError

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
    ids=["zip", "zip of a Mac", "tar"],
)
@pytest.mark.parametrize("name", ["code.zip", "Ann Lee/Code.ZIP", "a/b/c/hw.tar.gz"])
def test_code_in_an_archive_and_a_report_beside_it(tmp_path, packed, name):
    """How the archive is made is seen by its bytes, whatever its name."""
    report = name.replace(name.rpartition("/")[2], "report.pdf")
    found = read(tmp_path, {name: packed, report: b"%PDF"})
    ring, other = sorted(found.files, key=lambda path: not path.endswith("ring.py"))
    assert (found.files[ring], found.files[other]) == (b"x = 1", b"%PDF")
    assert ring.startswith(f"{name}/")
    assert found.not_read.keys() - {f"{name}/__MACOSX"} == {name}
    assert "contents were read" in found.not_read[name]
    assert any(name in note for note in found.notes)


def test_an_archive_in_an_archive_is_opened_once(tmp_path):
    """Two times packed is a habit of some; a third time is an archive that nobody opens."""
    outer = zip_of({"code.zip": zip_of(CODE)})
    (tmp_path / "twice.zip").write_bytes(outer)
    assert submissions.read(tmp_path / "twice.zip", WANTED).files == {"code.zip/ring.py": b"x = 1"}
    (tmp_path / "thrice.zip").write_bytes(zip_of({"more.zip": outer, "sync.py": b""}))
    found = submissions.read(tmp_path / "thrice.zip", WANTED)
    assert list(found.files) == ["sync.py"]
    assert set(found.not_read) == {"more.zip", "more.zip/code.zip"}
    (tmp_path / "alone.zip").write_bytes(zip_of({"more.zip": outer}))
    with pytest.raises(UsageError, match=r"more\.zip/code\.zip is not of a type"):
        submissions.read(tmp_path / "alone.zip", WANTED)


def test_archives_are_opened_beside_scripts_and_other_archives(tmp_path):
    """Which of the files is graded is not decided here."""
    files = {"ring.py": b"x = 2", "a.zip": zip_of(CODE), "b.zip": zip_of({**CODE, "h.py": b""})}
    found = read(tmp_path, files)
    assert set(found.files) == {"ring.py", "a.zip/ring.py", "b.zip/ring.py", "b.zip/h.py"}


def test_a_notebook_in_an_archive_is_read(tmp_path):
    """As one that lies beside it."""
    cell = {"cell_type": "code", "source": "%%writefile fed.py\nx"}
    content = json.dumps({"cells": [cell]}).encode()
    found = read(tmp_path, {"code.zip": zip_of({"a/all.ipynb": content})})
    assert found.files == {"code.zip/a/all.ipynb/fed.py": b"x\n"}


def test_archives_say_when_their_files_were_written(tmp_path):
    """For the question which of two is newer; no program says more than a number of seconds."""
    info = zipfile.ZipInfo("ring.py", (2026, 5, 6, 7, 8, 10))
    (tmp_path / "a.zip").write_bytes(archives.zip_of((info, b"1")))
    member = archives.member("ring.py", mtime=1 << 60, size=0)
    (tmp_path / "b.tar").write_bytes(archives.tar_of(member, format=tarfile.PAX_FORMAT))
    found = submissions.read(tmp_path, WANTED)
    assert found.times["a.zip/ring.py"] == 1778051290
    assert found.times["b.tar/ring.py"] == (1 << 32) - 1
    message = submission_codec.of_submission(found)
    there = submission_codec.unpack(b"".join(submission_codec.pack(message)))
    assert submission_codec.submission_of(found.origin, there) == found


@pytest.mark.parametrize(
    "packed",
    [
        b"PK nothing",
        zip_of(CODE)[:-30],
        tar_of(("ring.py", b"x = 1"), packed="gz")[:-9],
        archives.zip_of(("ring.py", b"x = 1"), how=zipfile.ZIP_BZIP2),
        archives.zip_of(("ring.py", b"x" * 99), how=zipfile.ZIP_STORED).replace(b"xx", b"xy", 1),
    ],
    ids=["no zip", "cut zip", "cut tar", "packed otherwise", "changed"],
)
def test_a_damaged_archive_beside_scripts_is_named(tmp_path, packed):
    """The scripts are graded."""
    found = read(tmp_path, {"code.zip": packed, "sync.py": b"1"})
    assert found.files == {"sync.py": b"1"}
    assert {each.partition("/")[0] for each in found.not_read} == {"code.zip"}
    with pytest.raises(UsageError, match="no readable script: code\\.zip"):
        (tmp_path / "sync.py").unlink()
        submissions.read(tmp_path, WANTED)


def test_archives_that_hold_too_much_are_not_opened(tmp_path):
    """Ten small bombs, each of which unpacks to much for a file of its size."""
    bomb = archives.zip_of(*((f"{number}.py", bytes(30 << 20)) for number in range(5)))
    files = {f"{number}.zip": bomb for number in range(8)}
    found = read(tmp_path, {**files, "ring.py": b"", "z.zip": zip_of(CODE)})
    assert list(found.files) == ["ring.py"]
    assert "MiB" in found.not_read["0.zip"]


def test_a_path_is_not_too_long_once_the_archive_is_a_folder(tmp_path):
    """What is sent to the grader has the names that it takes."""
    deep = "/".join(["x" * 40] * 11)
    outer = "/".join(["y" * 40] * 5)
    found = read(tmp_path, {f"{outer}/code.zip": zip_of({f"{deep}/a.py": b""}), "ring.py": b""})
    assert list(found.files) == ["ring.py"]
    assert "path" in found.not_read[f"{outer}/code.zip/{deep}/a.py"]


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (
            {"hw.rar": b"Rar!"},
            "no readable script: hw.rar .* unsupported type; unpack it, and pack [^;]* a zip$",
        ),
        ({"hw.7z": b"7z", "report.pdf": b""}, "hw.7z .* unsupported type"),
        ({"a/hw.zip": b"PK nothing"}, "hw.zip cannot be opened: .* unpacked as a zip"),
        ({f"{n:02}.zip": b"" for n in range(11)}, "no readable script: 00\\.zip"),
        (
            {"hw.zip": bytes(entries.MAX_FILE_NUM_BYTES + 1)},
            "no readable script: hw.zip is larger than",
        ),
    ],
    ids=["rar", "7z", "no zip", "many", "large"],
)
def test_what_cannot_be_opened_is_said_and_is_no_empty_hand_in(tmp_path, files, sentence):
    """Nobody is given no points for files that nobody has looked at."""
    with pytest.raises(UsageError, match=sentence):
        read(tmp_path, files)


def test_of_many_archives_the_nearest_are_opened(tmp_path):
    """The others are named."""
    found = read(tmp_path, {f"{n:02}.zip": zip_of(CODE) for n in range(12)})
    assert len(found.files) == 10
    assert "too many" in found.not_read["11.zip"]
