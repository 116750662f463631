"""The files of a zip: what it says of itself is not believed."""

import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from grader.errors import UsageError
from grader.listing import names
from grader.listing.entries import IS_A_LINK, IS_SPECIAL, MAX_ENTRIES, Entry, Listing, left_out

NOT_A_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)
"""All that zipfile raises for bytes that somebody made up."""
_MAGIC = b"PK"
_ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz")
_HEAD_NUM_BYTES = 30
"""At least, before the content of each file."""
_NAME_LENGTHS = struct.Struct("<26xHH")
"""In that head: of the name, and of what comes between it and the content."""
_DESCRIPTOR, _MAX_DESCRIPTOR_NUM_BYTES = 0x8, 24
"""Sizes that come after the content, of a zip written as a stream."""
_END, _END_NUM_BYTES = b"PK\5\6", 22
_WITH_MODES = (3, 19)
"""Unix and Darwin: what they zip has the modes of its files."""
_ENCRYPTED = 0x1
_IS_UTF_8 = 0x800
_FIELD = struct.Struct("<HH")
"""Kind and length of a field beside a name."""
_UNICODE_NAME, _UNICODE_NAME_OFFSET = 0x7075, 5
"""The name once more, which some programs take in place of the other, after a version and a sum."""


def of_zip(file: BinaryIO, path: Path) -> Listing:
    """Return the files of a zip; one that would lead out of it is left out.

    file: open for as long as entries are read. Raises UsageError when it is no zip.
    """
    try:
        archive = zipfile.ZipFile(file)
    except NOT_A_ZIP as error:
        file.seek(0)
        if file.read(len(_MAGIC)) == _MAGIC:
            raise UsageError(
                f"{path} cannot be unpacked as a zip ({names.shown_text(str(error))[:200]}); make "
                "the zip again, or upload it again"
            ) from None
        if path.name.lower().endswith(_ARCHIVES):
            raise UsageError(
                f"{path} is no archive, whatever its name says: it is damaged, or was not copied "
                "whole; make it again, or name the folder itself"
            ) from None
        raise UsageError(
            f"{path} is a file, not a folder; a folder, or a zip or tar of one, is expected"
        ) from None
    members = archive.infolist()
    if len(members) > MAX_ENTRIES:
        raise UsageError(
            f"{path} holds more than {MAX_ENTRIES} files; hand in only the files that the "
            "assignment asks for"
        )
    _refuse_overlaps(members, path)
    _refuse_other_readings(file, archive, path)
    times: Counter[str] = Counter()
    listing = {}
    for member in members:
        is_folder = member.filename.endswith("/")
        found = None if is_folder else names.in_archive(member.filename)
        if found is None:
            continue
        parts, problem = found
        problem = problem or _problem_of(member)
        if problem:
            listing[names.shown(parts)] = left_out(problem)
            continue
        name = "/".join(parts)
        times[name] += 1
        entry = Entry(_unpacking(archive, member, path), member.file_size)
        listing[name] = replace(entry, remark=remark(times[name]))
    return listing


def remark(num_times: int) -> str:
    """Return what to say of a file that an archive holds num_times; empty for once."""
    if num_times == 1:
        return ""
    return f"is in the archive {num_times} times; the last one was read"


def _problem_of(member: zipfile.ZipInfo) -> str:
    kind = stat.S_IFMT(member.external_attr >> 16) if member.create_system in _WITH_MODES else 0
    if stat.S_ISLNK(kind):
        return IS_A_LINK
    return IS_SPECIAL if kind not in (0, stat.S_IFREG) else ""


def _refuse_overlaps(members: Sequence[zipfile.ZipInfo], path: Path) -> None:
    """Raise UsageError when two members share bytes, by which a zip can unpack to any size."""
    end = 0
    for member in sorted(members, key=lambda each: each.header_offset):
        if member.header_offset < end:
            raise UsageError(
                f"{path}: {names.shown([member.filename])} shares its bytes with another file, "
                "which only a damaged or made-up zip does; make the zip again"
            )
        end = member.header_offset + _HEAD_NUM_BYTES + member.compress_size


def _refuse_other_readings(file: BinaryIO, archive: zipfile.ZipFile, path: Path) -> None:
    """Raise UsageError unless a zip is its files, their list and its end, from first byte to last.

    Programs that meet anything else there show different files, each by a rule of its own.
    """
    here, spare = 0, 0
    for member in sorted(archive.infolist(), key=lambda each: each.header_offset):
        if not 0 <= member.header_offset - here <= spare:
            raise _two_readings(path, "holds bytes that belong to none of its files")
        file.seek(member.header_offset)
        head = file.read(_HEAD_NUM_BYTES)
        lengths = _NAME_LENGTHS.unpack(head) if len(head) == _HEAD_NUM_BYTES else (0, 0)
        name, extra = (file.read(length) for length in lengths)
        if _has_other_name(member, name, extra):
            shown = names.shown([member.filename])
            raise _two_readings(path, f"has a second name for {shown}")
        here = member.header_offset + _HEAD_NUM_BYTES + sum(lengths) + member.compress_size
        spare = _MAX_DESCRIPTOR_NUM_BYTES if member.flag_bits & _DESCRIPTOR else 0
    if not 0 <= archive.start_dir - here <= spare:
        raise _two_readings(path, "holds bytes that belong to none of its files")
    file.seek(-min(_END_NUM_BYTES + len(archive.comment), file.seek(0, 2)), 2)
    if not file.read().startswith(_END):
        raise _two_readings(path, "goes on after its end")


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
    others = [*_unicode_names(member.extra), *_unicode_names(extra)]
    # Where neither is ASCII they may be one name in two encodings, and of no file that is graded.
    return any(other != ours and (other.isascii() or ours.isascii()) for other in others)


def _unicode_names(extra: bytes) -> Iterator[bytes]:
    """Yield the names that fields beside a member's own give it."""
    while len(extra) >= _FIELD.size:
        kind, num_bytes = _FIELD.unpack_from(extra)
        if kind == _UNICODE_NAME:
            yield extra[_FIELD.size + _UNICODE_NAME_OFFSET : _FIELD.size + num_bytes]
        extra = extra[_FIELD.size + num_bytes :]


def _two_readings(path: Path, what: str) -> UsageError:
    return UsageError(
        f"{path} {what}, so another program may show other files in it than are graded; make the "
        "zip again"
    )


def _unpacking(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path
) -> Callable[[], bytes]:
    def unpack() -> bytes:
        # What every program that zips can do; the others unpack to far more than they announce.
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UsageError(
                f"{path}: {member.filename} is packed in a way that is not read; make the zip "
                "again in the usual way (deflate)"
            )
        if member.flag_bits & _ENCRYPTED:
            raise UsageError(
                f"{path}: {member.filename} is encrypted; make the zip again without a password"
            )
        try:
            # Never longer than the size it announces.
            content = archive.read(member)
            if len(content) < member.file_size:
                raise EOFError(f"it breaks off after {len(content)} bytes")
            return content
        except NOT_A_ZIP as error:
            raise UsageError(
                f"{path}: {member.filename} in it cannot be unpacked "
                f"({names.shown_text(str(error))[:200]}); make the zip again"
            ) from None

    return unpack
