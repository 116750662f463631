"""Zips of hostile make: where they lead, what they link to, how large they are."""

import io
import os
import stat
import struct
import unicodedata
import zipfile
from pathlib import Path

from red_team.archives.contents import FILE, STOLEN, WRONG, write_zip


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
    return write_zip(place, [(name, WRONG) for name in [*names, FILE]])


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
    return write_zip(
        place, [(name, WRONG) for name in [*names, f"{FILE}/inside.py", "x", "x/y.py"]]
    )


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
    write_zip(place, [(FILE, bytes(10 << 20))])
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
    write_zip(place, [(FILE, bytes(10 << 20)), ("b.py", WRONG)])
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
    return write_zip(place, [(f"{number}.py", b"") for number in range(100_000)] + [(FILE, WRONG)])


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
    return write_zip(place, [(name, WRONG) for name in [*names, FILE]])


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


def _zip_of_kind(place: Path, system: int, members: list[tuple[str, int, bytes]]) -> Path:
    with zipfile.ZipFile(place, "w") as archive:
        for name, kind, content in members:
            member = zipfile.ZipInfo(name)
            member.create_system, member.external_attr = system, (kind | 0o777) << 16
            archive.writestr(member, content)
    return place
