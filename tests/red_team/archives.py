"""Archives and trees of hostile make, which git cannot hold or nobody wants in a repository.

Each function puts one submission at a path and returns it: `canary` is a file that lies outside and
must not get in. STOLEN is where a model solution lies in the container: a link that is followed
there is paid in full.
"""

import gzip
import io
import lzma
import os
import socket
import stat
import struct
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

FILE = "my_naive_allreduce.py"
STOLEN = f"/opt/course/reference/mpi_sgd/{FILE}"
WRONG = b"def allreduce(send, recv, comm, op):\n    recv[...] = 0\n"

SEEN = b"def allreduce(send, recv, comm, op):\n    comm.Allreduce(send, recv, op)\n"
"""What a person who unpacks an archive is to see, in place of what is graded."""
_NAME, _OTHER_NAME = FILE.encode(), b"my_other_allreduce.py"
_LISTED, _END = b"PK\1\2", b"PK\5\6"

Builder = Callable[[Path, Path], Path]


def zip_that_leads_out(place: Path, canary: Path) -> Path:
    """Name members by paths that climb out, are absolute, or are another system's."""
    names = [
        "../../evil.py",
        f"/{FILE}",
        "/tmp/evil.py",
        "a/../../evil.py",
        "C:\\evil.py",
        "..\\evil.py",
    ]
    return _zip(place, [(name, WRONG) for name in [*names, FILE]])


def zip_with_links(place: Path, canary: Path) -> Path:
    """Hold links to the model solution, to a canary, to a folder and to themselves."""
    with zipfile.ZipFile(place, "w") as archive:
        for name, target in (
            (FILE, STOLEN),
            ("utils.py", str(canary)),
            ("all", "/"),
            ("loop", "loop"),
        ):
            member = zipfile.ZipInfo(name)
            member.create_system = 3
            member.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(member, target)
    return place


def zip_with_twins(place: Path, canary: Path) -> Path:
    """Hold one name twice, in two cases, in two forms of Unicode, and as file and folder."""
    accented = unicodedata.normalize("NFC", "é.py")
    names = [FILE, FILE, FILE.upper(), accented, unicodedata.normalize("NFD", accented)]
    return _zip(place, [(name, WRONG) for name in [*names, f"{FILE}/inside.py", "x", "x/y.py"]])


def zip_that_is_a_bomb(place: Path, canary: Path) -> Path:
    """Unpack to a gigabyte of zeros in the very file that is asked for."""
    with (
        zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open(FILE, "w", force_zip64=True) as member,
    ):
        for _ in range(1 << 8):
            member.write(bytes(1 << 22))
    return place


def zip_with_overlaps(place: Path, canary: Path) -> Path:
    """Let two thousand entries of the directory share the same packed ten megabytes."""
    _zip(place, [(FILE, bytes(10 << 20))])
    data = place.read_bytes()
    at = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entry = data[at:end]
    name_at = 46
    entries = b"".join(
        entry[:name_at] + f"{number:04}".encode() + entry[name_at + 4 :] for number in range(2000)
    )
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 2000, 2000, len(entries), at, 0)
    place.write_bytes(data[:at] + entries + tail)
    return place


def zip_that_lies_about_sizes(place: Path, canary: Path) -> Path:
    """Announce ten bytes where there are ten megabytes, and the other way round."""
    _zip(place, [(FILE, bytes(10 << 20)), ("b.py", WRONG)])
    data = bytearray(place.read_bytes())
    for sign, size_at in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = data.index(sign)
        data[at + size_at : at + size_at + 4] = struct.pack("<L", 10)
        at = data.index(sign, at + 4)
        data[at + size_at : at + size_at + 4] = struct.pack("<L", 0xFFFFFFF0)
    place.write_bytes(data)
    return place


def zip_of_many_files(place: Path, canary: Path) -> Path:
    """Hold a hundred thousand files."""
    return _zip(place, [(f"{number}.py", b"") for number in range(100_000)] + [(FILE, WRONG)])


def zip_in_zip_in_zip(place: Path, canary: Path) -> Path:
    """Hold an archive in an archive, forty times."""
    content, name = WRONG, FILE
    for _ in range(40):
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w") as archive:
            archive.writestr(name, content)
        content, name = held.getvalue(), "inner.zip"
    place.write_bytes(content)
    return place


def zip_with_odd_names(place: Path, canary: Path) -> Path:
    """Use names that are options, commands, markup, formulas, or long."""
    names = [
        "-rf.py",
        "a\nb.py",
        "::error::x.py",
        "<script>alert(1)<.py",
        "=HYPERLINK(1).py",
        "\u202eyp.x",
        "a" * 300 + ".py",
    ]
    return _zip(place, [(name, WRONG) for name in [*names, FILE]])


def notebook_that_writes_elsewhere(place: Path, canary: Path) -> Path:
    """Let the cells of a notebook write outside, and nest its JSON deeply."""
    cells = [
        f"%%writefile {name}\\nx = 1"
        for name in ("../evil.py", "/tmp/evil.py", "/opt/grader/grader/cli.py")
    ]
    cells.append(f"%%writefile {FILE}\\n" + WRONG.decode().replace("\n", "\\n"))
    text = ", ".join(f'{{"cell_type": "code", "source": "{cell}"}}' for cell in cells)
    book = f'{{"nbformat": 4, "cells": [{text}]}}'
    return _zip(
        place,
        [("a.ipynb", book.encode()), ("<img src=x onerror=alert(1)>.ipynb", b'{"a":' * 50_000)],
    )


def tar_with_links(place: Path, canary: Path) -> Path:
    """Hold symbolic and hard links to the model solution and to a canary."""
    return _tar(
        place,
        [
            _member(FILE, tarfile.SYMTYPE, link=STOLEN),
            _member("utils.py", tarfile.LNKTYPE, link=str(canary)),
            _member("up", tarfile.SYMTYPE, link="/"),
            _member(f"up{STOLEN}", tarfile.REGTYPE),
        ],
    )


def tar_that_leads_out(place: Path, canary: Path) -> Path:
    """Name members by paths that climb out or are absolute."""
    return _tar(
        place, [_member(name) for name in ("../evil.py", "/tmp/evil.py", "a/../../b.py", FILE)]
    )


def tar_with_devices(place: Path, canary: Path) -> Path:
    """Hold pipes and devices, also under the name that is asked for."""
    return _tar(
        place,
        [
            _member(FILE, tarfile.FIFOTYPE),
            _member("zero.py", tarfile.CHRTYPE),
            _member("disk.py", tarfile.BLKTYPE),
            _member("utils.py", tarfile.CONTTYPE),
        ],
    )


def tar_that_is_sparse(place: Path, canary: Path) -> Path:
    """Announce a file of eight terabytes, by the header and by a list of holes."""
    sparse = _member(FILE)
    sparse.pax_headers = {
        "GNU.sparse.realsize": str(8 << 40),
        "GNU.sparse.map": f"{8 << 40},0",
        "GNU.sparse.name": FILE,
    }
    return _tar(place, [sparse])


def tar_with_huge_headers(place: Path, canary: Path) -> Path:
    """Hold extended headers of megabytes, and a name of a megabyte."""
    large = _member(FILE)
    large.pax_headers = {"comment": "x" * (8 << 20), "path": "d/" * 500_000 + "x.py"}
    return _tar(place, [large])


def tar_packed_ten_thousandfold(place: Path, canary: Path) -> Path:
    """Unpack, from gzip, to two gigabytes of the file that is asked for."""
    with tarfile.open(place, "w:gz", compresslevel=9) as archive:
        member = tarfile.TarInfo(FILE)
        member.size = 1 << 31
        archive.addfile(member, _Zeros(member.size))
    return place


def tree_with_links(place: Path, canary: Path) -> Path:
    """Link to the model solution, to a canary, to everything, and around in circles."""
    place.mkdir()
    for name, target in (
        (FILE, STOLEN),
        ("utils.py", str(canary)),
        ("all", "/"),
        ("loop", "."),
        ("self", "self"),
    ):
        (place / name).symlink_to(target)
    (place / "mine.py").write_bytes(WRONG)
    return place


def tree_with_pipes(place: Path, canary: Path) -> Path:
    """Put a named pipe in place of the file that is asked for, and a socket and a sparse one."""
    place.mkdir()
    os.mkfifo(place / FILE)
    os.mkfifo(place / "report.pdf")
    with (place / "sparse.py").open("wb") as file:
        file.truncate(1 << 40)
    here = Path.cwd()
    os.chdir(place)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("utils.py")
    os.chdir(here)
    return place


def tree_of_many_files(place: Path, canary: Path) -> Path:
    """Hold twenty thousand files, and folders three hundred levels deep."""
    place.mkdir()
    (place / FILE).write_bytes(WRONG)
    for number in range(20_000):
        (place / f"{number}.py").touch()
    at = place
    for _ in range(300):
        at = at / "deep"
        at.mkdir()
    return place


def tree_with_odd_names(place: Path, canary: Path) -> Path:
    """Use names that are no text, hold line ends, or command whoever prints them."""
    place.mkdir()
    (place / FILE).write_bytes(WRONG)
    for name in (
        b"-rf",
        b"a\n::error::b.py",
        b"\xff\xfe.py",
        b"\x1b[2J.py",
        b"=cmd|x.py",
        b"\xe2\x80\xae.py",
        b"$(id).py",
    ):
        Path(os.fsdecode(os.fsencode(place) + b"/" + name)).touch()
    return place


def tar_before_a_zip(place: Path, canary: Path) -> Path:
    """Begin as a tar that is graded, and end as a zip that a person sees."""
    place.write_bytes(_tar_bytes((FILE, WRONG)) + _zip_bytes((FILE, SEEN)))
    return place


def tar_whose_last_block_is_a_zip(place: Path, canary: Path) -> Path:
    """Hide the zip in a tar, gzipped whole, in the blocks that end it."""
    tar = _tar_bytes((FILE, WRONG))
    place.write_bytes(gzip.compress(tar + _zip_bytes((FILE, SEEN))))
    return place


def tar_packed_before_a_zip(place: Path, canary: Path) -> Path:
    """Put a zip behind the packed bytes of a tar, where unpackers end."""
    place.write_bytes(lzma.compress(_tar_bytes((FILE, WRONG))) + _zip_bytes((FILE, SEEN)))
    return place


def zip_before_a_tar(place: Path, canary: Path) -> Path:
    """Begin as a zip and go on as a tar."""
    place.write_bytes(_zip_bytes((FILE, SEEN)) + _tar_bytes((FILE, WRONG)))
    return place


def zip_before_a_packed_tar(place: Path, canary: Path) -> Path:
    """Begin as a zip and go on as a gzip of a tar."""
    place.write_bytes(_zip_bytes((FILE, SEEN)) + gzip.compress(_tar_bytes((FILE, WRONG))))
    return place


def zip_that_holds_a_tar_before_its_list(place: Path, canary: Path) -> Path:
    """Keep a tar between the files of a zip and their list, which says where it is now."""
    data, tar = _zip_bytes((FILE, SEEN)), _tar_bytes((FILE, WRONG))
    at, end = data.index(_LISTED), data.index(_END)
    moved = data[end : end + 16] + struct.pack("<L", at + len(tar)) + data[end + 20 :]
    place.write_bytes(data[:at] + tar + data[at:end] + moved)
    return place


def zip_with_bytes_after_its_end(place: Path, canary: Path) -> Path:
    """Append a script."""
    place.write_bytes(_zip_bytes((FILE, WRONG)) + b"\nexec(open('/etc/passwd').read())\n")
    return place


def zip_with_zeros_after_its_end(place: Path, canary: Path) -> Path:
    """Append what looks like padding."""
    place.write_bytes(_zip_bytes((FILE, WRONG)) + bytes(512))
    return place


def tar_with_bytes_after_its_end(place: Path, canary: Path) -> Path:
    """Append another tar, which some programs are told to read on into."""
    place.write_bytes(_tar_bytes((FILE, SEEN)) + _tar_bytes((FILE, WRONG)))
    return place


def zip_with_two_ends(place: Path, canary: Path) -> Path:
    """Hold a second zip behind the first, each with an end record of its own."""
    place.write_bytes(_zip_bytes((FILE, SEEN)) + _zip_bytes((FILE, WRONG)))
    return place


def zip_with_an_end_in_its_comment(place: Path, canary: Path) -> Path:
    """Hold the second zip in the comment of the first."""
    outer, inner = _zip_bytes((FILE, WRONG)), _zip_bytes((FILE, SEEN))
    place.write_bytes(outer[:-2] + struct.pack("<H", len(inner)) + inner)
    return place


def zip_with_an_end_in_a_file(place: Path, canary: Path) -> Path:
    """Hold a whole zip, not packed, as the last file, and its end once more after the end."""
    inner = _zip_bytes((FILE, SEEN))
    place.write_bytes(_zip_bytes((FILE, WRONG), ("z", inner)) + inner[inner.index(_END) :])
    return place


def zip_whose_local_name_is_another(place: Path, canary: Path) -> Path:
    """Call the file one thing before its content and another in the list."""
    place.write_bytes(_zip_bytes((FILE, WRONG)).replace(_NAME, _OTHER_NAME, 1))
    return place


def zip_whose_listed_name_is_another(place: Path, canary: Path) -> Path:
    """Have the list, and not what stands before the content, name the file that is asked for."""
    data = _zip_bytes((_OTHER_NAME.decode(), WRONG), ("seen.py", SEEN))
    at = data.rindex(_OTHER_NAME)
    place.write_bytes(data[:at] + _NAME + data[at + len(_NAME) :])
    return place


def zip_whose_unwanted_file_has_a_wanted_name(place: Path, canary: Path) -> Path:
    """Have a file that nobody asks for bear the wanted name before its content."""
    data = _zip_bytes((FILE, WRONG), (_OTHER_NAME.decode(), SEEN))
    at = data.index(_OTHER_NAME)
    place.write_bytes(data[:at] + _NAME + data[at + len(_NAME) :])
    return place


def zip_with_a_unicode_path(place: Path, canary: Path) -> Path:
    """Name the file that is asked for otherwise in a field that some programs prefer."""
    return _zip_with_unicode_names(place, [(FILE, WRONG, "shown.py"), ("other.py", SEEN, FILE)])


def zip_with_a_unicode_path_on_another(place: Path, canary: Path) -> Path:
    """Leave the file alone and give another its name by that field."""
    return _zip_with_unicode_names(place, [(FILE, WRONG, FILE), ("other.py", SEEN, FILE)])


def zip_with_a_unicode_path_that_leads_out(place: Path, canary: Path) -> Path:
    """Lead out by that field alone."""
    return _zip_with_unicode_names(place, [(FILE, WRONG, f"../../{FILE}")])


def gzip_of_many_members(place: Path, canary: Path) -> Path:
    """Pack a tar in three thousand members, block by block."""
    tar = _tar_bytes((FILE, WRONG), ("a.py", bytes(1 << 20)))
    pieces = [tar[at : at + 512] for at in range(0, len(tar), 512)]
    place.write_bytes(b"".join(map(gzip.compress, pieces)))
    return place


def gzip_of_two_tars(place: Path, canary: Path) -> Path:
    """Pack two tars in a member each: what one program sees as one, another reads half of."""
    tars = (_tar_bytes((FILE, SEEN)), _tar_bytes((FILE, WRONG)))
    place.write_bytes(b"".join(map(gzip.compress, tars)))
    return place


def gzip_with_bytes_after_it(place: Path, canary: Path) -> Path:
    """Put a zip, which has no gzip's beginning, after the last member."""
    place.write_bytes(gzip.compress(_tar_bytes((FILE, WRONG))) + _zip_bytes((FILE, SEEN)))
    return place


def zip_with_links_of_darwin(place: Path, canary: Path) -> Path:
    """Link to the model solution as a zip of that system does."""
    return _zip_of_kind(place, 19, [(FILE, stat.S_IFLNK, STOLEN.encode())])


def zip_with_links_to_a_canary_of_darwin(place: Path, canary: Path) -> Path:
    """Link to what lies outside, and to a folder with the file in it."""
    links = [("utils.py", stat.S_IFLNK, os.fsencode(canary)), ("up", stat.S_IFLNK, b"/")]
    return _zip_of_kind(place, 19, [*links, (f"up{STOLEN}", stat.S_IFREG, WRONG)])


def zip_with_devices_of_darwin(place: Path, canary: Path) -> Path:
    """Hold a device and a pipe under the names that are asked for."""
    return _zip_of_kind(place, 19, [(FILE, stat.S_IFCHR, b""), ("utils.py", stat.S_IFIFO, b"")])


READ_TWO_WAYS: tuple[Builder, ...] = (
    tar_before_a_zip,
    tar_whose_last_block_is_a_zip,
    tar_packed_before_a_zip,
    zip_before_a_tar,
    zip_before_a_packed_tar,
    zip_that_holds_a_tar_before_its_list,
    zip_with_bytes_after_its_end,
    zip_with_zeros_after_its_end,
    tar_with_bytes_after_its_end,
    zip_with_two_ends,
    zip_with_an_end_in_its_comment,
    zip_with_an_end_in_a_file,
    zip_whose_local_name_is_another,
    zip_whose_listed_name_is_another,
    zip_whose_unwanted_file_has_a_wanted_name,
    zip_with_a_unicode_path,
    zip_with_a_unicode_path_on_another,
    zip_with_a_unicode_path_that_leads_out,
    gzip_of_two_tars,
    gzip_with_bytes_after_it,
)
"""Programs show different files of these: they are refused."""
BUILDERS: tuple[Builder, ...] = (
    zip_that_leads_out,
    zip_with_links,
    zip_with_twins,
    zip_that_is_a_bomb,
    zip_with_overlaps,
    zip_that_lies_about_sizes,
    zip_of_many_files,
    zip_in_zip_in_zip,
    zip_with_odd_names,
    notebook_that_writes_elsewhere,
    tar_with_links,
    tar_that_leads_out,
    tar_with_devices,
    tar_that_is_sparse,
    tar_with_huge_headers,
    tar_packed_ten_thousandfold,
    tree_with_links,
    tree_with_pipes,
    tree_of_many_files,
    tree_with_odd_names,
    gzip_of_many_members,
    zip_with_links_of_darwin,
    zip_with_links_to_a_canary_of_darwin,
    zip_with_devices_of_darwin,
    *READ_TWO_WAYS,
)


class _Zeros(io.RawIOBase):
    """As many zeros as wanted, made while they are read."""

    def __init__(self, num_bytes: int) -> None:
        self._left = num_bytes

    def read(self, num_bytes: int = -1) -> bytes:
        taken = self._left if num_bytes < 0 else min(num_bytes, self._left)
        self._left -= taken
        return bytes(taken)


def _zip_bytes(*members: tuple[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content)
    return held.getvalue()


def _tar_bytes(*members: tuple[str, bytes]) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return held.getvalue()


def _zip_with_unicode_names(place: Path, members: list[tuple[str, bytes, str]]) -> Path:
    with zipfile.ZipFile(place, "w") as archive:
        for name, content, other in members:
            field = b"\1" + struct.pack("<L", zlib.crc32(name.encode())) + other.encode()
            member = zipfile.ZipInfo(name)
            member.extra = struct.pack("<HH", 0x7075, len(field)) + field
            archive.writestr(member, content)
    return place


def _zip_of_kind(place: Path, system: int, members: list[tuple[str, int, bytes]]) -> Path:
    with zipfile.ZipFile(place, "w") as archive:
        for name, kind, content in members:
            member = zipfile.ZipInfo(name)
            member.create_system, member.external_attr = system, (kind | 0o777) << 16
            archive.writestr(member, content)
    return place


def _zip(place: Path, members: list[tuple[str, bytes]]) -> Path:
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return place


def _member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    member.size = len(WRONG) if kind == tarfile.REGTYPE else 0
    member.devmajor, member.devminor = 1, 5
    return member


def _tar(place: Path, members: list[tarfile.TarInfo]) -> Path:
    with tarfile.open(place, "w", format=tarfile.PAX_FORMAT) as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(WRONG) if member.size else None)
    return place
