"""A zip of hostile make: what it says of itself is not believed."""

import io
import stat
import struct
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import pytest
from archives import zip_of, zip_with_modes

from grader.intake import submission as submissions
from grader.intake.archives import zips
from grader.intake.archives.entries import IS_A_LINK, IS_SPECIAL
from grader.intake.submission import Submission
from grader.model.errors import UsageError

WANTED = ["ring.py", "sync.py", "part1/main.py"]
HONEST = ("sync.py", b"2")


@pytest.fixture
def read(tmp_path: Path):
    def read(content: bytes) -> Submission:
        (tmp_path / "it.zip").write_bytes(content)
        return submissions.read(tmp_path / "it.zip", WANTED)

    return read


@pytest.mark.parametrize(
    "name", ["/ring.py", "../ring.py", "a/../../ring.py", "C:\\ring.py", "c:ring.py", "\\\\h\\s\\x"]
)
def test_what_would_lie_elsewhere_is_left_out(read, name):
    """The rest is graded."""
    assert list(read(zip_of((name, b"1"), HONEST)).files) == ["sync.py"]


def test_a_name_with_a_drive_is_said_to_have_one(read):
    """It is not outside of anything here, but it would be elsewhere."""
    ((path, reason),) = read(zip_of(("a:b.py", b"1"), HONEST)).not_read.items()
    assert path == "a:b.py"
    assert "drive" in reason


@pytest.mark.parametrize("damage", ["cut", "a name that is not text", "a version to come"])
def test_a_broken_zip_is_told_from_another_file(read, damage):
    """It is to be made or sent again."""
    content = zip_of(("r\u00e9.py", b"1" * 100), HONEST)
    if damage == "cut":
        content = content[:-30]
    elif damage == "a name that is not text":
        content = content.replace("r\u00e9".encode(), b"r\xff\xfe")
    else:
        content = content.replace(b"PK\x01\x02\x14\x03\x14", b"PK\x01\x02\x14\x03\x63")
    with pytest.raises(
        UsageError, match=r"it\.zip cannot be unpacked as a zip .*; make the zip ag"
    ):
        read(content)


def test_a_file_without_a_name_is_left_out(read):
    """It has no place to be."""
    content = zip_with_modes(("", b"1", stat.S_IFREG), (*HONEST, stat.S_IFREG))
    assert list(read(content).files) == ["sync.py"]


def test_links_and_devices_are_left_out_and_named(read):
    """A link in a zip is a file whose content is where it leads."""
    found = read(
        zip_with_modes(
            ("ring.py", b"/etc/passwd", stat.S_IFLNK),
            ("pipe", b"", stat.S_IFIFO),
            ("sync.py", b"2", stat.S_IFREG),
        )
    )
    assert dict(found.files) == {"sync.py": b"2"}
    assert found.not_read == {"pipe": IS_SPECIAL, "ring.py": IS_A_LINK}


@pytest.mark.parametrize("name", ["a\nb.py", "\x1b[2Jb.py", "a\u202eyp.b"])
def test_names_that_cannot_be_shown_are_left_out(read, name):
    """They are named as far as they can be."""
    ((shown, reason),) = read(zip_of((name, b"1"), HONEST)).not_read.items()
    assert shown.isprintable()
    assert "cannot be shown" in reason


def test_of_two_files_of_one_name_the_last_counts_and_is_named(read):
    """As every program unpacks them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = read(zip_of(("ring.py", b"1"), ("ring.py", b"2")))
    assert dict(found.files) == {"ring.py": b"2"}
    assert found.notes == ("ring.py occurs 2 times in the archive; the last copy was read",)


def test_an_encrypted_file_is_one_sentence(read):
    """With the way out."""
    data = bytearray(zip_of(("ring.py", b"1")))
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + offset] |= 1
    with pytest.raises(UsageError, match=r"ring\.py is encrypted; make the zip again without a p"):
        read(bytes(data))


@pytest.mark.parametrize("said", [0, 1, 99, 101, 1 << 20])
def test_a_file_that_is_not_as_long_as_it_says_is_one_sentence(read, said):
    """Neither more nor less is taken for the file."""
    data = bytearray(zip_of(("ring.py", b"1" * 100)))
    for magic, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.index(magic) + offset, said)
    with pytest.raises(UsageError, match=r"ring\.py cannot be unpacked"):
        read(bytes(data))


def test_a_bomb_that_says_it_is_small_is_not_unpacked(read):
    """No more of it than it says."""
    data = bytearray(zip_of(("ring.py", bytes(200 << 20))))
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, 10)
    tracemalloc.start()
    with pytest.raises(UsageError, match=r"ring\.py cannot be unpacked"):
        read(bytes(data))
    assert tracemalloc.get_traced_memory()[1] < 10 << 20
    tracemalloc.stop()


def test_a_lie_about_a_huge_size_is_told(read):
    """What says that it is huge is not unpacked."""
    data = bytearray(zip_of(("ring.py", b"1" * 100), HONEST))
    extra = struct.pack("<HHQ", 1, 8, 1 << 62)
    place = data.index(b"PK\x01\x02")
    struct.pack_into("<I", data, place + 24, 0xFFFFFFFF)
    struct.pack_into("<H", data, place + 30, len(extra))
    data[place + 46 + len("ring.py") : place + 46 + len("ring.py")] = extra
    end = data.index(b"PK\x05\x06")
    size = struct.unpack_from("<I", data, end + 12)[0]
    struct.pack_into("<I", data, end + 12, size + len(extra))
    assert read(bytes(data)).not_read == {"ring.py": "is larger than 32 MiB"}


def test_a_zip_in_a_zip_in_a_zip_stays_packed(read):
    """A bomb made of zips does not go off."""
    inner = zip_of(("ring.py", bytes(1 << 20)))
    found = read(zip_of(("more.zip", zip_of(("most.zip", inner), HONEST))))
    assert list(found.files) == ["more.zip/sync.py"]
    assert set(found.not_read) == {"more.zip", "more.zip/most.zip"}


def test_two_long_names_are_two_rows(read):
    """Though neither is shown whole."""
    paths = [f"{'a/' * 300}{end}" for end in ("x.py", "y.py")]
    found = read(zip_of(*((path, b"") for path in paths), HONEST))
    assert len(found.not_read) == 2
    assert max(map(len, found.not_read)) <= 255


def test_too_many_members_are_one_sentence(read, monkeypatch):
    """Whatever they are."""
    monkeypatch.setattr(zips, "MAX_ENTRIES", 10)
    with pytest.raises(
        UsageError, match=r"it\.zip contains more than 10 files; hand in only the fil"
    ):
        read(zip_of(*((f"{number}.txt", b"") for number in range(11))))


def test_too_large_an_archive_is_one_sentence(read, monkeypatch):
    """Before it is looked into."""
    monkeypatch.setattr(submissions, "_MAX_ARCHIVE_NUM_BYTES", 100)
    with pytest.raises(UsageError, match="is larger than 0 MiB; leave data files out"):
        read(zip_of(("ring.py", bytes(range(256)))))


@pytest.mark.parametrize(
    "content",
    [
        b"MZ".ljust(64, b"\0") + zip_of(HONEST),
        zip_of(HONEST) + bytes(512),
        zip_of(HONEST) + b"\n",
        zip_of(("sync.py", b"1")) + zip_of(HONEST),
        zip_of(HONEST)[:-2] + b"\xff\xff" + b"cut off",
    ],
    ids=["a program before it", "zeros", "a line", "another zip before it", "half a comment"],
)
def test_bytes_around_a_zip_are_nothing_to_it(read, content):
    """Some programs and platforms add them; what is read is what everybody is shown."""
    assert dict(read(content).files) == {"sync.py": b"2"}


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


def test_a_zip_written_as_a_stream_is_read(read):
    """Its sizes come after the contents; a comment is at its end, as `git archive` leaves one."""

    class Stream(io.RawIOBase):
        def __init__(self) -> None:
            self.written = b""

        def writable(self) -> bool:
            return True

        def write(self, data) -> int:
            self.written += bytes(data)
            return len(data)

    stream = Stream()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("sync.py", "ring.py"):
            archive.writestr(name, name * 100)
        archive.comment = b"0123456789abcdef"
    assert sorted(read(stream.written).files) == ["ring.py", "sync.py"]


@pytest.mark.parametrize("system", [0, 2, 3, 5, 11, 16, 19, 30, 255])
def test_a_link_is_a_link_whatever_system_has_made_it(read, system):
    """Programs that unzip have lists of their own of systems whose links they make."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        link = zipfile.ZipInfo("ring.py")
        link.create_system, link.external_attr = system, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("sync.py", "2")
    assert list(read(made.getvalue()).files) == ["sync.py"]
