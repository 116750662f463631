"""A tar, packed in any way: what is in it, and what it does not get."""

import bz2
import gzip
import lzma
import tarfile
import time
import zipfile
from pathlib import Path

import pytest
from archives import PACKINGS, member, tar_of, zip_of

from grader.intake import submission as submissions
from grader.intake.archives import tars, zips
from grader.intake.archives.entries import IS_OF_NO_KIND
from grader.intake.submission import Submission
from grader.model.errors import UsageError

WANTED = ["ring.py", "sync.py", "part1/main.py", "report.pdf"]
HONEST = ("sync.py", b"2")
ALL_PACKINGS = pytest.mark.parametrize("packed", PACKINGS)


@pytest.fixture
def read(tmp_path: Path):
    def read(content: bytes) -> Submission:
        (tmp_path / "it.tar").write_bytes(content)
        return submissions.read(tmp_path / "it.tar", WANTED)

    return read


@ALL_PACKINGS
@pytest.mark.parametrize("start", ["", "./", "anna/", "./anna/"])
def test_a_tar_is_read_like_a_folder(read, tmp_path, packed, start):
    """Flat or in one folder, with the digest of the same files in a folder."""
    files = {"part1/main.py": b"1", "report.pdf": b"2" * 3000, "ring.py": b"3"}
    found = read(
        tar_of(
            member(f"{start}part1", tarfile.DIRTYPE),
            *((f"{start}{name}", content) for name, content in files.items()),
            packed=packed,
        )
    )
    folder = start.removeprefix("./")
    assert found.files == {f"{folder}{name}": content for name, content in files.items()}
    assert (found.notes, found.not_read) == ((), {})
    assert found.digest == submissions.of_files("it", files).digest


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_long_names_are_read(read, form):
    """In each of the ways to write them down."""
    name = f"{'ä' * 110}.py"
    assert set(read(tar_of((name, b"1"), HONEST, format=form)).files) == {name, "sync.py"}


@pytest.mark.parametrize(
    "name", ["/ring.py", "../ring.py", "a/../../ring.py", "C:\\ring.py", "a/../ring.py"]
)
def test_what_would_lie_elsewhere_is_left_out(read, name):
    """The rest is graded."""
    assert list(read(tar_of((name, b"1"), HONEST)).files) == ["sync.py"]


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (tarfile.SYMTYPE, "is a link, and links are not followed"),
        (tarfile.LNKTYPE, "is a link, and links are not followed"),
        (tarfile.CHRTYPE, "is not a regular file"),
        (tarfile.BLKTYPE, "is not a regular file"),
        (tarfile.FIFOTYPE, "is not a regular file"),
        (tarfile.CONTTYPE, "is not a regular file"),
    ],
)
def test_what_is_no_regular_file_is_left_out_and_named(read, kind, problem):
    """Nothing it points to is read."""
    found = read(tar_of(member("ring.py", kind, "/etc/passwd"), HONEST))
    assert dict(found.files) == {"sync.py": b"2"}
    assert found.not_read == {"ring.py": problem}


def test_a_sparse_file_is_left_out_and_named(read):
    """A few bytes that claim to be a huge file."""
    info = member("ring.py")
    info.pax_headers = {
        "GNU.sparse.major": "0",
        "GNU.sparse.minor": "1",
        "GNU.sparse.size": str(1 << 50),
        "GNU.sparse.map": f"0,0,{1 << 50},0",
    }
    found = read(tar_of(info, HONEST, format=tarfile.PAX_FORMAT))
    assert found.files == {"sync.py": b"2"}
    assert "sparse" in found.not_read["ring.py"]


def test_of_two_files_of_one_name_the_last_counts_and_is_named(read):
    """As every program unpacks them."""
    found = read(tar_of(("ring.py", b"1"), ("ring.py", b"2"), ("ring.py", b"3")))
    assert dict(found.files) == {"ring.py": b"3"}
    assert found.notes == ("ring.py occurs 3 times in the archive; the last copy was read",)


def test_a_link_over_a_file_wins(read):
    """As it would in every program that unpacks."""
    found = read(tar_of(("ring.py", b"1"), member("ring.py", tarfile.SYMTYPE, "x"), HONEST))
    assert list(found.files) == ["sync.py"]
    assert list(found.not_read) == ["ring.py"]


def test_a_name_that_is_no_text_is_left_out(read):
    """Bytes that are not UTF-8 have no name here."""
    found = read(tar_of(("r\udcff.py", b"1"), HONEST, format=tarfile.GNU_FORMAT))
    assert found.not_read == {"r\\udcff.py": "has a name that is not text"}


@ALL_PACKINGS
def test_half_an_archive_is_one_sentence(read, packed):
    """Cut in its last file."""
    content = tar_of(HONEST, ("ring.py", bytes(range(256)) * 80), packed=packed)
    with pytest.raises(UsageError, match=r"cannot be unpacked as a tar .* make the archive again"):
        read(content[: len(content) // 2])


@pytest.mark.parametrize("packed", ["gz", "bz2", "xz"])
def test_a_damaged_end_is_noticed(read, packed):
    """The sum of a packed file stands at its end, after all that a tar needs."""
    content = bytearray(tar_of(HONEST, packed=packed))
    content[-5] ^= 0xFF
    with pytest.raises(UsageError, match="cannot be unpacked as a tar"):
        read(bytes(content))


def test_a_bomb_stops_at_what_it_unpacks_to(read, monkeypatch):
    """Whatever it says of itself, the bytes are counted as they come."""
    monkeypatch.setattr(tars, "_UNSUSPICIOUS_NUM_BYTES", 1 << 20)
    content = tar_of(HONEST) + bytes(16 << 20)
    with pytest.raises(UsageError, match="unpacks to more than 1 MiB; leave data files out of"):
        read(gzip.compress(content))
    monkeypatch.setattr(tars, "_MAX_RATIO", 1 << 30)
    monkeypatch.setattr(tars, "_MAX_UNPACKED_NUM_BYTES", 2 << 20)
    with pytest.raises(UsageError, match="unpacks to more than 2 MiB; leave data files out of"):
        read(gzip.compress(content))


def test_too_much_to_hold_is_one_sentence(read, monkeypatch):
    """Though each file is within its limit."""
    monkeypatch.setattr(tars, "_MAX_HELD_NUM_BYTES", 1000)
    with pytest.raises(UsageError, match="unpacks to more than 0 MiB; leave data files out of the"):
        read(tar_of(("ring.py", bytes(600)), ("sync.py", bytes(600))))


def test_data_files_are_not_held(read, monkeypatch):
    """They are of no kind that is asked for, which is told."""
    monkeypatch.setattr(tars, "_MAX_HELD_NUM_BYTES", 1000)
    found = read(tar_of(*((f"data/{n}.png", bytes(600)) for n in range(9)), HONEST))
    assert list(found.files) == ["sync.py"]
    assert found.not_read == {f"data/{n}.png": IS_OF_NO_KIND for n in range(9)}


def test_a_size_without_measure_is_one_sentence(read):
    """Nobody goes on reading behind the end to get to the next member."""
    content = bytearray(tar_of(("ring.txt", b"1")))
    content[124:136] = b"\x80" + b"\x7f" * 11
    content[148:156] = b" " * 8
    content[148:156] = b"%06o\0 " % sum(content[:512])
    started_s = time.process_time()
    with pytest.raises(UsageError, match=r"cannot be unpacked as a tar \(it ends early\); make"):
        read(bytes(content))
    assert time.process_time() - started_s < 5


def test_too_many_members_are_one_sentence(read, monkeypatch):
    """Whatever they are."""
    monkeypatch.setattr(zips, "MAX_ENTRIES", 10)
    with pytest.raises(
        UsageError, match=r"it\.tar contains more than 10 files; hand in only the fil"
    ):
        read(tar_of(*((f"{number}.txt", b"") for number in range(11))))


def test_nested_name_headers_are_one_sentence(read):
    """A tar that drives its reader into recursion."""
    header = member("x", tarfile.GNUTYPE_LONGNAME).tobuf(tarfile.GNU_FORMAT)
    with pytest.raises(UsageError, match="cannot be unpacked as a tar"):
        read(header * 3000)


def test_an_empty_tar_is_empty(read):
    """As an empty folder is."""
    with pytest.raises(UsageError, match="is empty; expected the files that the handout names"):
        read(tar_of(packed="gz"))


def test_packed_bytes_that_are_no_tar_are_one_sentence(read):
    """Such as one file, packed."""
    with pytest.raises(UsageError, match="cannot be unpacked as a tar"):
        read(gzip.compress(b"x = 1\n" * 1000))


@ALL_PACKINGS
def test_what_comes_behind_a_tar_is_nothing_to_it(read, packed):
    """Some programs would show a zip there; what is read is what everybody is shown."""
    content = tar_of(HONEST) + zip_of(("ring.py", b"what another program shows"))
    packing = {"": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    assert dict(read(packing[packed](content)).files) == {"sync.py": b"2"}


@ALL_PACKINGS
@pytest.mark.parametrize("name", ["it.tar", "it.ZIP"])
def test_a_tar_that_holds_a_zip_is_read(tmp_path, packed, name):
    """Without packing, and whatever the tar is called."""
    kept = zip_of(("ring.py", b"1"), how=zipfile.ZIP_STORED)
    (tmp_path / name).write_bytes(tar_of(HONEST, ("data.zip", kept), packed=packed))
    found = submissions.read(tmp_path / name, WANTED)
    assert dict(found.files) == {"sync.py": b"2", "data.zip/ring.py": b"1"}
