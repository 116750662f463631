"""What a container takes for a submission, and what it refuses."""

import io
import os
import struct
import tarfile
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import UsageError
from grader.runner import intake_stream
from grader.runner.intake_stream import pack, read_submission, when_client_leaves

NAMES = st.text("abcä _-.", min_size=1, max_size=20).filter(lambda name: name not in (".", ".."))


def framed(data: bytes) -> io.BytesIO:
    return io.BytesIO(struct.pack(">Q", len(data)) + data)


def tar_of(*entries: tuple[tarfile.TarInfo, bytes], **options) -> io.BytesIO:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", **options) as archive:
        for entry, content in entries:
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return framed(buffer.getvalue())


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@given(st.dictionaries(NAMES, st.binary(max_size=2000), max_size=5))
def test_what_is_packed_arrives(files):
    """Any files in a folder come out as they went in."""
    assert read_submission(io.BytesIO(pack(files))) == list(files.items())


def test_what_follows_the_tar_is_left_in_the_stream():
    """The stream stays usable: its end tells that the client has gone."""
    stream = io.BytesIO(pack({"a.py": b"1"}) + b"more")
    read_submission(stream)
    assert stream.read() == b"more"


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../a.py",
        "a/../../b.py",
        "./a.py",
        "a//b.py",
        "a\\b.py",
        "a\nb.py",
        "a\x1b[31m.py",
        "x" * 256,
        "/".join("abcdefghi"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(name):
    """Only plain relative names."""
    with pytest.raises(UsageError, match="with a name it must not have"):
        read_submission(tar_of((entry(name), b"")))


def test_a_name_that_is_not_text_is_refused():
    """Bytes that are not UTF-8 have no name here."""
    with pytest.raises(UsageError, match="whose name is not text"):
        read_submission(tar_of((entry("a\udcff.py"), b""), format=tarfile.GNU_FORMAT))


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.FIFOTYPE,
        tarfile.DIRTYPE,
        tarfile.CONTTYPE,
    ],
)
def test_only_regular_files_are_taken(kind):
    """Links, devices, pipes and folders are refused."""
    with pytest.raises(UsageError, match="which is not a regular file"):
        read_submission(tar_of((entry("a.py", kind, "/etc/passwd"), b"")))


def test_a_sparse_file_is_refused():
    """A few bytes that claim to be a huge file are refused before they are read."""
    info = entry("a.py")
    info.pax_headers = {
        "GNU.sparse.major": "0",
        "GNU.sparse.minor": "1",
        "GNU.sparse.size": str(1 << 50),
        "GNU.sparse.map": f"0,0,{1 << 50},0",
    }
    with pytest.raises(UsageError, match="which is not a regular file"):
        read_submission(tar_of((info, b""), format=tarfile.PAX_FORMAT))


def test_the_same_name_twice_is_refused():
    """The second would hide the first."""
    with pytest.raises(UsageError, match=r"'a\.py' twice"):
        read_submission(tar_of((entry("a.py"), b"1"), (entry("a.py"), b"2")))


def test_a_file_that_is_also_a_folder_is_refused():
    """In either order."""
    for names in (("a", "a/b.py"), ("a/b.py", "a")):
        with pytest.raises(UsageError, match="as a file and as a folder"):
            read_submission(tar_of(*((entry(name), b"") for name in names)))


def test_too_many_files_are_refused_on_both_sides(monkeypatch):
    """The client says so first; the container does not rely on it."""
    monkeypatch.setattr(intake_stream, "MAX_FILES", 3)
    files = {f"{number}.py": b"" for number in range(4)}
    with pytest.raises(UsageError, match="holds 4 files, at most 3"):
        pack(files)
    with pytest.raises(UsageError, match="more than 3 files"):
        read_submission(tar_of(*((entry(name), b"") for name in files)))


def test_too_large_a_submission_is_refused_on_both_sides(monkeypatch):
    """By its announced size, before a byte of it is read."""
    monkeypatch.setattr(intake_stream, "MAX_TAR_NUM_BYTES", 20 << 10)
    with pytest.raises(UsageError, match="leave data files out"):
        pack({"a.py": bytes(30 << 10)})
    with pytest.raises(UsageError, match="at most"):
        read_submission(io.BytesIO(struct.pack(">Q", 1 << 60)))


@pytest.mark.parametrize("data", [b"", b"1234567"])
def test_no_submission_on_standard_input(data):
    """A person who tries --from-stdin by hand is told what it is for."""
    with pytest.raises(UsageError, match="no submission arrived"):
        read_submission(io.BytesIO(data))


@given(st.binary(max_size=2048))
def test_bytes_that_are_no_tar_are_refused_or_empty(data):
    """Whatever arrives, the answer is files or one sentence."""
    try:
        assert read_submission(framed(data)) == []
    except UsageError:
        return


@given(st.integers(0, 5000), st.binary(min_size=1, max_size=8))
def test_a_damaged_tar_never_escapes(place, damage):
    """Overwritten anywhere, a tar is still only plain files or one sentence."""
    data = bytearray(pack({"a.py": b"1" * 700, "b" * 120 + ".py": b"2"}))
    place = 8 + place % (len(data) - 8)
    data[place : place + len(damage)] = damage[: len(data) - place]
    try:
        found = read_submission(io.BytesIO(bytes(data)))
    except UsageError:
        return
    for name, _ in found:
        assert not name.startswith("/")
        assert ".." not in name.split("/")


def test_nested_name_headers_are_refused():
    """A tar that drives its reader into recursion is one sentence, too."""
    header = entry("x", tarfile.GNUTYPE_LONGNAME).tobuf(tarfile.GNU_FORMAT)
    with pytest.raises(UsageError, match="did not arrive as a readable tar"):
        read_submission(framed(header * 3000))


def test_a_submission_that_breaks_off_is_refused():
    """Half a submission is none."""
    with pytest.raises(UsageError, match="broke off after 4000 of"):
        read_submission(io.BytesIO(pack({"a.py": bytes(9000)})[:4008]))


def test_the_end_of_the_stream_is_noticed():
    """Closing the other end calls back; bytes before it do not."""
    reader, writer = os.pipe()
    left = threading.Event()
    when_client_leaves(reader, left.set)
    os.write(writer, b"anything")
    assert not left.is_set()
    os.close(writer)
    assert left.wait(10)
    os.close(reader)
