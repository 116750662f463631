"""The end of a zip: where programs may find different lists, nothing is graded."""

import io
import struct
import zipfile
from pathlib import Path

import pytest
from archives import zip_of

from grader import submission as submissions
from grader.errors import UsageError
from grader.submission import Submission

HONEST = ("sync.py", b"2")


@pytest.fixture
def read(tmp_path: Path):
    def read(content: bytes) -> Submission:
        (tmp_path / "it.zip").write_bytes(content)
        return submissions.read(tmp_path / "it.zip", ["ring.py", "sync.py"])

    return read


def end_record(num_files: int, size: int, at: int, comment_num_bytes: int) -> bytes:
    return struct.pack(
        "<4s4H2LH", b"PK\5\6", 0, 0, num_files, num_files, size, at, comment_num_bytes
    )


def zip_with_two_lists(*, how: int) -> bytes:
    """Return a zip of two files and a list of each, of which one lies in the other's comment."""
    content = zip_of(("ring.py", b"seen"), ("sync.py", b"2"), how=how)
    at, end = content.index(b"PK\1\2"), content.index(b"PK\5\6")
    second = content.index(b"PK\1\2", at + 4)
    lists = content[at:second], content[second:end]
    num_bytes_behind = len(lists[1]) + 22
    return (
        content[:at]
        + lists[0]
        + end_record(1, len(lists[0]), at, num_bytes_behind)
        + lists[1]
        + end_record(1, len(lists[1]), at + len(lists[0]) + 22, 0)
    )


def with_end_in_a_file(comment_num_bytes: int, *, behind: int) -> bytes:
    """Return a zip whose last file holds an end record, whose comment reaches `behind` its end."""
    said, comment = end_record(0, 0, 0, 0), b"?" * comment_num_bytes
    for _ in range(2):
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            archive.writestr("sync.py", b"2")
            archive.writestr("z", said)
            archive.comment = comment
        content = made.getvalue()
        num_bytes_behind = len(content) - content.index(said) - len(said)
        said = end_record(0, 0, 0, num_bytes_behind + behind)
    return content


def with_changed_end(offset: int, form: str, change: int) -> bytes:
    """Return a zip one of whose numbers in the last record is off by something."""
    content = bytearray(zip_of(("ring.py", b"1"), HONEST))
    at = content.index(b"PK\5\6") + offset
    (number,) = struct.unpack_from(form, content, at)
    struct.pack_into(form, content, at, number + change)
    return bytes(content)


@pytest.mark.parametrize(
    "content",
    [
        zip_of(HONEST)[:-2] + b"\5\0",
        zip_of(HONEST)[:-2] + b"\5\0" + b"four",
        zip_of(HONEST)[:-2] + b"\5\0" + b"sixsix",
        zip_of(HONEST)[:-2] + b"\xff\xff" + b"?" * 100,
        zip_with_two_lists(how=zipfile.ZIP_DEFLATED),
        zip_with_two_lists(how=zipfile.ZIP_STORED),
        with_end_in_a_file(0, behind=0),
        with_end_in_a_file(100, behind=0),
        zip_of(HONEST)[:-2] + b"\x1a\0" + b"text" + end_record(0, 0, 0, 0),
        zip_of(HONEST)[:-2] + b"\x16\0" + end_record(0, 0, 0, 0),
        zip_of(HONEST)[:-2] + b"\x16\0" + zip_of(HONEST)[-22:],
        zip_of(HONEST)[:-2] + b"\x0a\0" + b"PK\5\6" + b"cut off",
    ],
    ids=[
        "a comment that is not there",
        "a comment that breaks off",
        "a comment that ends early",
        "a comment of the greatest length",
        "a list in the comment",
        "a list in the comment, files as they are",
        "an end in a file",
        "an end in a file and a comment",
        "an end that is its comment's end",
        "an empty end in the comment",
        "the same end once more",
        "half an end in the comment",
    ],
)
def test_an_end_that_programs_may_take_for_another_is_refused(read, content):
    """Some take the last record, some go on to one whose comment reaches the file's end."""
    with pytest.raises(UsageError, match=r"it\.zip .*; make the zip again"):
        read(content)


@pytest.mark.parametrize(
    ("offset", "form", "change"),
    [(4, "<H", 1), (6, "<H", 1), (8, "<H", -1), (10, "<H", -1), (8, "<H", 1), (16, "<L", 7)],
    ids=["disk", "the list's disk", "files here", "files", "one file more", "place"],
)
def test_an_end_that_says_something_else_of_the_list_is_refused(read, offset, form, change):
    """Some programs go by the number of files, some by the list's length, some by its place."""
    with pytest.raises(UsageError, match=r"it\.zip.*; make the zip again"):
        read(with_changed_end(offset, form, change))


@pytest.mark.parametrize("behind", [-1, 1])
def test_an_end_in_a_file_that_is_no_end_of_this_zip_is_read(read, behind):
    """A zip that is handed in within another has one, as it is."""
    found = read(with_end_in_a_file(0, behind=behind))
    assert {*found.files, *found.not_read} == {"sync.py", "z"}


def large_zip(*, changed: dict[int, int] | None = None) -> bytes:
    """Return a zip with the record for large zips, whose numbers at some offsets are others."""
    content = zip_of(HONEST)
    end = content.index(b"PK\5\6")
    _, _, num_files, _, size, at, _ = struct.unpack("<4H2LH", content[end + 4 :])
    large = bytearray(
        struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, num_files, num_files, size, at)
        + struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
        + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, num_files, num_files, size, 0xFFFFFFFF, 0)
    )
    for offset, number in (changed or {}).items():
        struct.pack_into("<L", large, offset, number)
    return content[:end] + large


def test_a_zip_that_says_its_numbers_in_the_record_for_large_ones_is_read(read):
    """Some programs always write it."""
    assert set(read(large_zip()).files) == {"sync.py"}


@pytest.mark.parametrize(
    "changed",
    [{4: 45}, {24: 0}, {32: 0}, {48: 3}, {64: 3}, {72: 2}, {88: 0x10000}, {92: 9}],
    ids=[
        "its length",
        "files",
        "all",
        "place",
        "where it is",
        "disks",
        "count twice",
        "other list",
    ],
)
def test_two_records_that_disagree_are_refused(read, changed):
    """Some programs prefer the one, some the other."""
    with pytest.raises(UsageError, match=r"it\.zip .*; make the zip again"):
        read(large_zip(changed=changed))


@pytest.mark.parametrize("num_bytes", [12, 16, 20, 22, 24])
def test_bytes_after_a_content_that_are_not_its_sizes_are_refused(read, num_bytes):
    """They are as long as those, and may be the end of another list."""
    content = bytearray(zip_of(HONEST))
    at = content.index(b"PK\1\2")
    content[at + 8] |= 8
    end = content.index(b"PK\5\6")
    struct.pack_into("<L", content, end + 16, at + num_bytes)
    between = end_record(0, 0, at, len(content) - at).ljust(num_bytes, b"\0")[:num_bytes]
    with pytest.raises(UsageError, match="holds bytes that belong to none of its files"):
        read(bytes(content[:at]) + between + bytes(content[at:]))


@pytest.mark.parametrize(("offset", "number"), [(8, 0), (18, 2), (18, 0), (0, 0)])
def test_two_sizes_of_one_file_are_refused(read, offset, number):
    """A program that reads from the beginning would end the file elsewhere."""
    content = bytearray(zip_of(("ring.py", b"1" * 100), HONEST))
    struct.pack_into("<H", content, offset, number)
    with pytest.raises(UsageError, match=r"says two things of the size of ring\.py.*zip again"):
        read(bytes(content))


@pytest.mark.parametrize("force", [False, True])
def test_a_file_whose_size_needs_a_field_of_its_own_is_read(read, force):
    """As a program writes it that does not know beforehand how large it will be."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("ring.py", "w", force_zip64=force) as member,
    ):
        member.write(b"1" * 1000)
    assert dict(read(made.getvalue()).files) == {"ring.py": b"1" * 1000}
