"""Whatever is handed in, the answer is a submission within all limits, or one sentence."""

import io
import os
import stat
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from archives import PACKINGS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.intake import submission as submissions
from grader.intake import submission_codec
from grader.intake.submission import MAX_FILES, Submission
from grader.intake.submission_codec import SubmissionMessage
from grader.model.errors import UsageError

CANARY = b"what nobody may read"
WANTED = ["ring.py", "part1/main.py", "sync.py"]


def zip_of(*members: tuple[str, bytes]) -> bytes:
    """Return a zip, also of members with one name."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


PARTS = st.one_of(
    st.sampled_from(
        [
            *("ring.py", "Ring.py", "ring.py ", "part1", "main.py", "a", "all.ipynb", ".git"),
            *("code.zip", "code.tar.gz", "venv", "ring (1).py"),
            *("..", ".", "", "C:", "\u00e9.py", "e\u0301.py", "a\nb", "\x1b[2J", "\u202eyp.a"),
            *("x" * 300, "a\\b", "~", "-rf", "$(id)", "NUL"),
        ]
    ),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
)
PATHS = st.lists(PARTS, min_size=1, max_size=5).map("/".join)
CONTENTS = st.one_of(
    st.binary(max_size=50),
    st.just(b'{"cells": [{"cell_type": "code", "source": "%%writefile ring.py\\nx"}]}'),
    st.just(b'{"cells": [{"cell_type": "code", "source": "%%writefile ../../a/ring.py\\nx"}]}'),
    st.sampled_from(
        [
            zip_of(("ring.py", b"1"), ("../sync.py", b"2"), ("C:/a.py", b"3")),
            zip_of(("a/" * 200 + "ring.py", b"1"), ("ring.py", b"2"), ("ring.py/x.py", b"3")),
            zip_of(("x.zip", zip_of(("ring.py", b"1")))),
            zip_of(("ring.py", b"1" * 99)).replace(b"1111", b"1112", 1),
        ]
    ),
)
KINDS = st.sampled_from(["file", "file", "link", "hard link", "pipe", "folder", "sparse"])
QUICK = settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "main.py").write_bytes(CANARY)
    return tmp_path / "outside"


def require_harmless(path: Path) -> None:
    """Read it; require that it is a submission as any other process may get it, or refused."""
    try:
        found = submissions.read(path, WANTED)
    except UsageError as error:
        assert "Traceback" not in str(error)
        return
    require_moderate(found)


def require_moderate(found: Submission) -> None:
    assert CANARY not in found.files.values()
    assert len(found.files) <= MAX_FILES
    assert all(note.isprintable() for note in found.notes)
    assert all(f"{name}{why}".isprintable() for name, why in found.not_read.items())
    assert not found.not_read.keys() & found.files.keys()
    assert found.times.keys() <= found.files.keys()
    # Only plain names pass; what passes is the same submission, however it is graded.
    there = submission_codec.unpack(
        b"".join(submission_codec.pack(submission_codec.of_submission(found)))
    )
    assert submission_codec.submission_of(found.origin, there) == (found)


@QUICK
@given(tree=st.lists(st.tuples(PATHS, KINDS, CONTENTS), max_size=8))
def test_any_folder(outside, tree):
    """Of files, links of both kinds, pipes and holes under any name."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "it")
        root.mkdir()
        for name, kind, content in tree:
            _make(root, name, kind, content, outside)
        require_harmless(root)


def _make(root: Path, name: str, kind: str, content: bytes, outside: Path) -> None:
    parts = [part for part in name.split("/") if part not in ("", ".", "..")]
    try:
        path = root.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "file":
            with path.open("xb") as file:
                file.write(content)
        elif kind == "link":
            path.symlink_to(outside if len(content) % 2 else outside / "main.py")
        elif kind == "hard link":
            os.link(root / "ring.py", path)
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            with path.open("xb") as file:
                file.truncate(1 << 40)
    except (OSError, ValueError):
        return  # a name that this system does not take, or taken already


@QUICK
@given(
    members=st.lists(st.tuples(PATHS, KINDS, CONTENTS), max_size=8),
    packed=st.sampled_from(PACKINGS),
    form=st.sampled_from([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT]),
    damage=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=3),
)
def test_any_tar(outside, tmp_path, members, packed, form, damage):
    """Packed in any way, and damaged anywhere."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{packed}", format=form) as archive:
        for name, kind, content in members:
            info = tarfile.TarInfo(name)
            info.type = {
                "link": tarfile.SYMTYPE,
                "hard link": tarfile.LNKTYPE,
                "pipe": tarfile.FIFOTYPE,
                "folder": tarfile.DIRTYPE,
                "sparse": tarfile.GNUTYPE_SPARSE,
            }.get(kind, tarfile.REGTYPE)
            info.linkname = str(outside / "main.py") if "link" in kind else ""
            info.size = len(content) if kind == "file" else 0
            archive.addfile(info, io.BytesIO(content))
    file = tmp_path / "it.tar"
    file.write_bytes(_damaged(buffer.getvalue(), damage))
    require_harmless(file)


@QUICK
@given(
    members=st.lists(st.tuples(PATHS, KINDS, CONTENTS), max_size=8),
    how=st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]),
    damage=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=3),
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_any_zip(outside, tmp_path, members, how, damage):
    """Packed in any way, and damaged anywhere."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as archive:
        for name, kind, content in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = how
            info.external_attr = _mode(kind) << 16
            is_link = kind == "link"
            archive.writestr(info, os.fsencode(outside / "main.py") if is_link else content)
    file = tmp_path / "it.zip"
    file.write_bytes(_damaged(buffer.getvalue(), damage))
    require_harmless(file)


def _mode(kind: str) -> int:
    return {"link": stat.S_IFLNK, "pipe": stat.S_IFIFO, "folder": stat.S_IFDIR}.get(
        kind, stat.S_IFREG
    )


def _damaged(data: bytes, damage: Sequence[tuple[int, int]]) -> bytes:
    changed = bytearray(data)
    for place, value in damage:
        changed[place % len(changed)] = value
    return bytes(changed)


@QUICK
@given(data=st.binary(max_size=2000), start=st.sampled_from([b"", b"PK\3\4", b"\x1f\x8b", b"BZh9"]))
def test_any_file(tmp_path, data, start):
    """However it begins."""
    (tmp_path / "it").write_bytes(start + data)
    require_harmless(tmp_path / "it")


@QUICK
@given(files=st.dictionaries(PATHS, CONTENTS, max_size=6), notes=st.lists(st.text(max_size=20)))
def test_any_parcel(files, notes):
    """Whatever is packed, only plain files under plain names come out."""
    sent = b"".join(submission_codec.pack(SubmissionMessage(files, notes=tuple(notes))))
    try:
        arrived = submission_codec.unpack(sent)
    except submission_codec.BrokenMessageError:
        return
    require_moderate(submission_codec.submission_of("it", arrived))
