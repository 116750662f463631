"""Zips in which one program shows other files than another: before, behind and within them."""

import itertools
import struct
import zipfile
import zlib
from pathlib import Path

from red_team.archives.contents import (
    END,
    FILE,
    LISTED,
    SEEN,
    WRONG,
    tar_bytes,
    zip_bytes,
)


def zip_that_holds_a_tar_before_its_list(place: Path, canary: Path) -> Path:
    """Keep a tar between the files of a zip and their list, which says where it is now."""
    data, tar = zip_bytes((FILE, SEEN)), tar_bytes((FILE, WRONG))
    at, end = data.index(LISTED), data.index(END)
    moved = data[end : end + 16] + struct.pack("<L", at + len(tar)) + data[end + 20 :]
    place.write_bytes(data[:at] + tar + data[at:end] + moved)
    return place


def zip_that_begins_as_an_old_tar(place: Path, canary: Path) -> Path:
    """Hold, in the first file, the rest of a tar's head of the oldest kind, and a tar."""
    for drawn, total in itertools.product(range(100), range(600, 2600)):
        # A tar's head says what it adds up to, and a zip's the sum of what it holds, that among it.
        told = bytes(102) + b"%015d" % drawn + b"\t%06o\0" % total + bytes(512 - 156)
        data = zip_bytes(("z", told + tar_bytes((FILE, SEEN))), (FILE, WRONG))
        if sum(data[:148] + b" " * 8 + data[156:512]) == total:
            place.write_bytes(data)
            return place
    raise AssertionError("no such zip was found")


def zip_with_two_ends(place: Path, canary: Path) -> Path:
    """Hold a second zip behind the first, each with an end record of its own."""
    place.write_bytes(zip_bytes((FILE, SEEN)) + zip_bytes((FILE, WRONG)))
    return place


def zip_with_an_end_in_its_comment(place: Path, canary: Path) -> Path:
    """Hold the second zip in the comment of the first."""
    outer, inner = zip_bytes((FILE, WRONG)), zip_bytes((FILE, SEEN))
    place.write_bytes(outer[:-2] + struct.pack("<H", len(inner)) + inner)
    return place


def zip_whose_comment_breaks_off(place: Path, canary: Path) -> Path:
    """Hold a second end in the last file; only its comment ends where the zip does."""
    seen = zip_bytes((FILE, SEEN))
    inner = zip_bytes((FILE, WRONG), ("z", seen))
    num_bytes_behind = len(inner) - inner.index(seen) - len(seen)
    told = seen[:-2] + struct.pack("<H", num_bytes_behind)
    place.write_bytes(zip_bytes((FILE, WRONG), ("z", told))[:-2] + b"\xff\0")
    return place


def zip_with_more_files_than_it_says(place: Path, canary: Path) -> Path:
    """Say one file where the list has two of a name: who counts sees the first one only."""
    data = zip_bytes((FILE, SEEN), (FILE, WRONG))
    at, end = data.index(LISTED), data.index(END)
    place.write_bytes(data[:end] + _end(1, end - at, at))
    return place


def zip_with_two_lists_by_two_ends(place: Path, canary: Path) -> Path:
    """Let the end say one list and the end for large zips, which some prefer, another."""
    data = zip_bytes((FILE, SEEN), (FILE, WRONG))
    at, end = data.index(LISTED), data.index(END)
    second = data.index(LISTED, at + 4)
    large = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, end - second, second)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    place.write_bytes(data[:end] + large + locator + _end(2, end - at, at))
    return place


def zip_with_a_unicode_path_that_leads_out(place: Path, canary: Path) -> Path:
    """Lead out by that field alone."""
    return _zip_with_unicode_names(place, [(FILE, WRONG, f"../../{FILE}")])


def _zip_with_unicode_names(place: Path, members: list[tuple[str, bytes, str]]) -> Path:
    with zipfile.ZipFile(place, "w") as archive:
        for name, content, other in members:
            field = b"\1" + struct.pack("<L", zlib.crc32(name.encode())) + other.encode()
            member = zipfile.ZipInfo(name)
            member.extra = struct.pack("<HH", 0x7075, len(field)) + field
            archive.writestr(member, content)
    return place


def _end(num_files: int, size: int, at: int, comment_num_bytes: int = 0) -> bytes:
    numbers = (0, 0, num_files, num_files, size, at, comment_num_bytes)
    return struct.pack("<4s4H2LH", END, *numbers)


def zip_with_a_file_behind_a_packed_content(place: Path, canary: Path) -> Path:
    """Say that a packed content is longer than it is: in the bytes behind it lies another file."""
    packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = packing.compress(b"notes") + packing.flush()
    hidden = zip_bytes((FILE, SEEN))
    content = packed + hidden[: hidden.index(LISTED)]
    data = bytearray(zip_bytes(("notes.txt", content), (FILE, WRONG)))
    sizes = struct.pack("<LLL", zlib.crc32(b"notes"), len(content), len(b"notes"))
    for at, packing_at, sizes_at in ((0, 8, 14), (_list_of(data), 10, 16)):
        data[at + packing_at : at + packing_at + 2] = struct.pack("<H", zipfile.ZIP_DEFLATED)
        data[at + sizes_at : at + sizes_at + len(sizes)] = sizes
    place.write_bytes(data)
    return place


def _list_of(data: bytes) -> int:
    """Return where the list of a zip begins, as its end says."""
    return int(struct.unpack_from("<L", data, data.rindex(END) + 16)[0])
