"""A zip from first byte to last: refused where programs would show different files in it."""

import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from grader.listing import names
from grader.listing.zip_contents import Contents
from grader.listing.zip_end import End, end_of, two_readings

_HEAD = struct.Struct("<4s2xHH8xL4xHH")
"""Before each content: sign, flags, packing, packed size, lengths of name and fields."""
_HEAD_SIGN = b"PK\3\4"
_LISTED = struct.Struct("<28xHHH12x")
"""In the list: lengths of the name and of the two texts beside it."""
_DESCRIPTOR = 0x8
_DESCRIPTOR_SIGN = b"PK\7\x08"
_DESCRIPTORS = (struct.Struct("<LLL"), struct.Struct("<LQQ"))
"""Sum and sizes that come after the content, of a zip written as a stream."""
_FIELD = struct.Struct("<HH")
"""Kind and length of a field beside a name."""
_SIZES, _SIZES_STRUCT, _SEE_SIZES = 0x1, struct.Struct("<QQ"), 0xFFFFFFFF
"""Sizes that need more bytes than a head has for them, and what the head says then."""
_UNICODE_NAME, _UNICODE_NAME_OFFSET = 0x7075, 5
"""The name once more, which some programs take in place of the other, after a version and a sum."""
_IS_UTF_8 = 0x800


def refuse_other_readings(file: BinaryIO, archive: zipfile.ZipFile, path: Path) -> None:
    """Raise UsageError unless a zip is its files, their list and its end, from first byte to last.

    Programs that meet anything else there show different files, each by a rule of its own.
    """
    here, spare = 0, {b""}
    contents = Contents(path)
    for member in sorted(archive.infolist(), key=lambda each: each.header_offset):
        _refuse_stray_bytes(file, here, member.header_offset, spare, path)
        file.seek(member.header_offset)
        head = file.read(_HEAD.size).ljust(_HEAD.size, b"\0")
        sign, flags, packing, num_bytes, *lengths = _HEAD.unpack(head)
        name, extra = (file.read(length) for length in lengths)
        shown = names.shown([member.filename])
        if _has_other_name(member, name, extra):
            raise two_readings(path, f"has a second name for {shown}")
        if num_bytes == _SEE_SIZES:
            num_bytes = _large_size(extra)
        comes_after = num_bytes == 0 and flags & _DESCRIPTOR
        if (sign, packing) != (_HEAD_SIGN, member.compress_type) or not (
            comes_after or num_bytes == member.compress_size
        ):
            raise two_readings(path, f"says two things of the size of {shown}")
        here = member.header_offset + _HEAD.size + sum(lengths) + member.compress_size
        spare = set(_descriptors(member)) if flags & _DESCRIPTOR else {b""}
        contents.refuse_other_end(file, member, shown)
    _refuse_stray_bytes(file, here, archive.start_dir, spare, path)
    _refuse_other_lists(file, archive, end_of(file, path), path)


def _refuse_stray_bytes(
    file: BinaryIO, start: int, stop: int, allowed: set[bytes], path: Path
) -> None:
    """Raise UsageError unless what lies between two offsets may be there."""
    if 0 <= stop - start <= max(map(len, allowed)):
        file.seek(start)
        if file.read(stop - start) in allowed:
            return
    raise two_readings(path, "holds bytes that belong to none of its files")


def _descriptors(member: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield what may come after the content of a member, nothing included."""
    yield b""
    for form in _DESCRIPTORS:
        try:
            text = form.pack(member.CRC, member.compress_size, member.file_size)
        except struct.error:
            continue
        yield text
        yield _DESCRIPTOR_SIGN + text


def _refuse_other_lists(file: BinaryIO, archive: zipfile.ZipFile, end: End, path: Path) -> None:
    """Raise UsageError unless the list is where, as long, and of as many files as the end says."""
    num_files = len(archive.infolist())
    here = archive.start_dir
    for _ in range(num_files):
        file.seek(here)
        here += _LISTED.size + sum(_LISTED.unpack(file.read(_LISTED.size)))
    expected = (0, 0, num_files, num_files, end.at - archive.start_dir, archive.start_dir)
    if here != end.at or end.numbers != expected:
        raise two_readings(path, "says other things of its list at its end than are there")


def _large_size(extra: bytes) -> int:
    """Return the packed size that a field before the content gives; -1 for none."""
    for kind, text in _fields(extra):
        if kind == _SIZES and len(text) >= _SIZES_STRUCT.size:
            return int(_SIZES_STRUCT.unpack_from(text)[1])
    return -1


def _has_other_name(member: zipfile.ZipInfo, name: bytes, extra: bytes) -> bool:
    """Return whether a program may show a member by another name than we do.

    name, extra: what stands before its content.
    """
    coding = "utf-8" if member.flag_bits & _IS_UTF_8 else "cp437"
    try:
        if name.decode(coding) != member.orig_filename:
            return True
    except UnicodeDecodeError:
        return True
    ours = member.orig_filename.encode()
    others = [
        text[_UNICODE_NAME_OFFSET:]
        for kind, text in (*_fields(member.extra), *_fields(extra))
        if kind == _UNICODE_NAME
    ]
    # Where neither is ASCII they may be one name in two encodings, and of no file that is graded.
    return any(other != ours and (other.isascii() or ours.isascii()) for other in others)


def _fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield kind and content of the fields beside a name."""
    while len(extra) >= _FIELD.size:
        kind, num_bytes = _FIELD.unpack_from(extra)
        yield kind, extra[_FIELD.size : _FIELD.size + num_bytes]
        extra = extra[_FIELD.size + num_bytes :]
