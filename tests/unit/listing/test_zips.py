"""A zip of hostile make: what it says of itself is not believed."""

import io
import stat
import struct
import warnings
import zipfile
import zlib
from pathlib import Path

import pytest
from archives import zip_of, zip_with_modes

from grader import submission as submissions
from grader.errors import UsageError
from grader.listing import zips
from grader.listing.entries import IS_A_LINK, IS_SPECIAL
from grader.submission import Submission

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


@pytest.mark.parametrize("damage", ["cut", "a name that is no text", "a version to come"])
def test_a_broken_zip_is_told_from_another_file(read, damage):
    """It is to be made or sent again."""
    content = zip_of(("r\u00e9.py", b"1" * 100), HONEST)
    if damage == "cut":
        content = content[:-30]
    elif damage == "a name that is no text":
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
    assert found.notes == ("ring.py is in the archive 2 times; the last one was read",)


def test_files_that_share_bytes_are_refused(read):
    """One run of packed bytes that is many files unpacks to any size."""
    data = bytearray(zip_of(("ring.py", b"1" * 100), ("sync.py", b"2" * 100)))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        first, second = (each.header_offset for each in archive.infolist())
    place = data.rindex(b"PK\x01\x02") + 42
    assert struct.unpack_from("<I", data, place) == (second,)
    struct.pack_into("<I", data, place, first)
    with pytest.raises(UsageError, match="shares its bytes with another file, which only a damag"):
        read(bytes(data))


def test_an_encrypted_file_is_one_sentence(read):
    """With the way out."""
    data = bytearray(zip_of(("ring.py", b"1")))
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + offset] |= 1
    with pytest.raises(UsageError, match=r"ring\.py is encrypted; make the zip again without a p"):
        read(bytes(data))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        *((said, r"says two things of the size of ring\.py, so another") for said in (0, 1, 99)),
        *((said, r"ring\.py in it cannot be unpacked") for said in (101, 1 << 20)),
    ],
)
def test_a_file_that_is_not_as_long_as_it_says_is_one_sentence(read, said, told):
    """Neither more nor less is taken for the file; of what is longer, another program shows all."""
    data = bytearray(zip_of(("ring.py", b"1" * 100)))
    for magic, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.index(magic) + offset, said)
    with pytest.raises(UsageError, match=told):
        read(bytes(data))


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
    with pytest.raises(UsageError, match=r"it\.zip holds more than 10 files; hand in only the fil"):
        read(zip_of(*((f"{number}.txt", b"") for number in range(11))))


def test_too_large_an_archive_is_one_sentence(read, monkeypatch):
    """Before it is looked into."""
    monkeypatch.setattr(submissions, "_MAX_ARCHIVE_NUM_BYTES", 100)
    with pytest.raises(UsageError, match="has more than 0 MiB; leave data files out"):
        read(zip_of(("ring.py", bytes(range(256)))))


def inner() -> bytes:
    return zip_of(("ring.py", b"what a person sees"))


@pytest.mark.parametrize(
    "content",
    [
        b"\0" * 64 + zip_of(HONEST),
        inner() + zip_of(HONEST),
        zip_of(HONEST) + b"\0",
        zip_of(HONEST) + b"\n# a script",
        zip_of(HONEST) + inner(),
        zip_of(HONEST)[:-2] + struct.pack("<H", len(inner())) + inner(),
    ],
    ids=["before it", "a zip before it", "a byte", "text behind it", "a zip", "a zip as comment"],
)
def test_a_zip_that_reads_two_ways_is_refused(read, content):
    """A person who unpacks it is to see what is graded."""
    with pytest.raises(
        UsageError, match=r"it\.zip .*; make the (zip|archive) again|is a file, not"
    ):
        read(content)


def test_bytes_between_two_files_are_refused(read):
    """A file that the list at the end leaves out, which some programs show."""
    content = zip_of(("ring.py", b"hidden"), HONEST)
    at = content.index(b"PK\x01\x02")
    listed = content[at:]
    second = listed.index(b"PK\x01\x02", 4)
    end = listed.index(b"PK\x05\x06")
    kept = listed[second:end]
    tail = listed[end:]
    tail = tail[:8] + struct.pack("<HHLL", 1, 1, len(kept), at) + tail[20:]
    with pytest.raises(UsageError, match="holds bytes that belong to none of its files"):
        read(content[:at] + kept + tail)


def with_unicode_name(name: str, other: str, *, flag_bits: int = 0) -> zipfile.ZipInfo:
    """Return a member that has a second name in a field of its own."""
    text = b"\1" + struct.pack("<L", zlib.crc32(name.encode())) + other.encode()
    info = zipfile.ZipInfo(name)
    info.flag_bits |= flag_bits
    info.extra = struct.pack("<HH", 0x7075, len(text)) + text
    return info


def zip_of_members(*members: zipfile.ZipInfo) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for info in members:
            archive.writestr(info, info.filename)
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "other"),
    [("ring.py", "shown.py"), ("shown.py", "ring.py"), ("sch\u00f6n.py", "ring.py")],
)
@pytest.mark.parametrize("where", ["both", "before the content", "in the list"])
def test_a_second_name_of_a_file_is_refused(read, name, other, where):
    """A person may see the one where the other is graded."""
    content = zip_of_members(with_unicode_name(name, other), zipfile.ZipInfo("sync.py"))
    mark, nothing = struct.pack("<H", 0x7075), struct.pack("<H", 0x7076)
    at = content.rindex(mark) if where == "before the content" else content.index(mark)
    if where != "both":
        content = content[:at] + nothing + content[at + 2 :]
    with pytest.raises(UsageError, match=r"has a second name for .*; make the zip again"):
        read(content)


@pytest.mark.parametrize("index", [0, 1])
def test_a_name_before_the_content_unlike_the_one_in_the_list_is_refused(read, index):
    """Whether the file is one that is graded or not: some programs read from the beginning."""
    content = zip_of(("ring.py", b"1"), ("seen.py", b"2"))
    name = (b"ring.py", b"seen.py")[index]
    at = content.index(name)
    with pytest.raises(UsageError, match=r"has a second name for .*; make the zip again"):
        read(content[:at] + b"sync.py" + content[at + len(name) :])


@pytest.mark.parametrize("other", ["sch\u00f6n.py", "sch\u0151n.py"])
def test_a_name_that_is_written_twice_in_two_encodings_is_read(read, other):
    """As common programs write what is not ASCII."""
    found = read(
        zip_of_members(with_unicode_name("sch\u00f6n.py", other), zipfile.ZipInfo("sync.py"))
    )
    assert "sync.py" in found.files


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
