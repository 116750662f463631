"""Contents of a zip that end elsewhere than it says: what is behind them is nobody's to grade."""

import struct
import zipfile
import zlib
from pathlib import Path

import pytest
from archives import zip_of

from grader import submission as submissions
from grader.errors import UsageError
from grader.listing import zip_contents
from grader.submission import Submission

STREAMED = 0x8
HEAD = struct.Struct("<4s5H3L2H")
LISTED = struct.Struct("<4s6H3L5H2L")
SUM = zlib.crc32


@pytest.fixture
def read(tmp_path: Path):
    def read(content: bytes) -> Submission:
        (tmp_path / "it.zip").write_bytes(content)
        return submissions.read(tmp_path / "it.zip", ["ring.py", "sync.py"])

    return read


def packed(content: bytes) -> bytes:
    packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packing.compress(content) + packing.flush()


def zip_by_hand(*members: tuple[str, bytes, bytes, int, int]) -> bytes:
    """Return a zip of (name, content, as it is packed, flags before it, flags in the list)."""
    written, listed = b"", b""
    for name, content, data, flags, listed_flags in members:
        sizes = (SUM(content), len(data), len(content))
        at = len(written)
        said = (0, 0, 0) if flags & STREAMED else sizes
        head = HEAD.pack(b"PK\3\4", 20, flags, zipfile.ZIP_DEFLATED, 0, 33, *said, len(name), 0)
        written += head + name.encode() + data
        if flags & STREAMED:
            written += b"PK\7\x08" + struct.pack("<LLL", *sizes)
        fields = (20, 20, listed_flags, zipfile.ZIP_DEFLATED, 0, 33, *sizes, len(name))
        listed += LISTED.pack(b"PK\1\2", *fields, 0, 0, 0, 0, 0, at) + name.encode()
    end = struct.pack("<4H2LH", 0, 0, len(members), len(members), len(listed), len(written), 0)
    return written + listed + b"PK\5\6" + end


@pytest.mark.parametrize("flags", [0, STREAMED])
@pytest.mark.parametrize("behind", [b"x", zip_of(("ring.py", b"seen"))])
def test_bytes_behind_a_packed_content_are_refused(read, flags, behind):
    """Who reads from the beginning takes them for the next file, the list says otherwise."""
    notes = ("notes.txt", b"1", packed(b"1") + behind, flags, flags)
    ring = ("ring.py", b"2", packed(b"2"), 0, 0)
    with pytest.raises(UsageError, match=r"holds other bytes behind the content of notes\.txt, so"):
        read(zip_by_hand(notes, ring))


@pytest.mark.parametrize("size", [0, 1, zip_contents._PIECE_NUM_BYTES, 3 << 20])
@pytest.mark.parametrize("flags", [0, STREAMED])
def test_contents_that_end_where_they_should_are_read(read, size, flags):
    """Also those that are unpacked in several pieces, or in none."""
    content = b"1" * size
    files = read(zip_by_hand(("ring.py", content, packed(content), flags, flags))).files
    assert files["ring.py"] == content


def test_what_comes_after_a_content_is_said_before_it(read):
    """Who reads from the beginning knows the list only when all has been read."""
    content, data = b"1" * 99, packed(b"1" * 99)
    assert read(zip_by_hand(("ring.py", content, data, STREAMED, 0))).files == {"ring.py": content}
    streamed = zip_by_hand(("ring.py", content, data, STREAMED, STREAMED))
    in_list_only = streamed.replace(struct.pack("<HH", 20, STREAMED), struct.pack("<HH", 20, 0), 1)
    with pytest.raises(UsageError, match=r"says two things of the size of ring\.py"):
        read(in_list_only)


def test_a_damaged_content_is_told_where_it_is_read(read):
    """It is damaged, and nobody takes it for two things."""
    with pytest.raises(UsageError, match=r"ring\.py in it cannot be unpacked"):
        read(zip_by_hand(("ring.py", b"1" * 99, b"\xff" * 20, 0, 0)))
    with pytest.raises(UsageError, match=r"ring\.py in it cannot be unpacked"):
        read(zip_by_hand(("ring.py", b"1" * 99, packed(b"1" * 99)[:-2], 0, 0)))


def test_too_much_to_unpack_is_one_sentence(read, monkeypatch):
    """As a tar says it."""
    monkeypatch.setattr(zip_contents, "_MAX_UNPACKED_NUM_BYTES", 2 << 20)
    with pytest.raises(UsageError, match="unpacks to more than 2 MiB; leave data files out"):
        read(zip_of(("ring.py", bytes(3 << 20))))
