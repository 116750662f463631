"""The files of a tar, packed or not, in one pass that stops when it yields too much."""

import bz2
import gzip
import lzma
import tarfile
from collections.abc import Callable, Collection
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from grader.intake.archives import names
from grader.intake.archives.entries import (
    DAMAGED,
    IS_A_LINK,
    IS_OF_NO_KIND,
    IS_SPECIAL,
    MAX_FILE_NUM_BYTES,
    Entry,
    Listing,
    in_memory,
    left_out,
)
from grader.intake.archives.zips import Members
from grader.model.errors import UsageError

_NOT_A_TAR = (tarfile.TarError, lzma.LZMAError, IndexError, *DAMAGED)
_UNPACKERS: tuple[tuple[bytes, Callable[[BinaryIO], object]], ...] = (
    (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\0", lzma.LZMAFile),
)
"""By how a packed file begins."""
_TAR_MAGIC, _TAR_MAGIC_OFFSET = b"ustar", 257
_HEAD_NUM_BYTES = 512
_MAX_UNPACKED_NUM_BYTES = 1 << 30
_MAX_HELD_NUM_BYTES = 256 << 20
_MAX_RATIO = 100
_UNSUSPICIOUS_NUM_BYTES = 256 << 20
"""Up to here, any ratio of unpacked to packed bytes can be honest."""
_PIECE_NUM_BYTES = 1 << 20
_KEPT = {".py", ".ipynb", ".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz"}
_MAX_TIME_S = (1 << 32) - 1
_MAX_EMPTY_READS = 16
"""At its end: tarfile goes on to any place that a member's size leads to, block by block."""


def is_tar(file: BinaryIO) -> bool:
    """Return whether a file begins like a tar, or like something packed."""
    head = file.read(_HEAD_NUM_BYTES)
    file.seek(0)
    is_packed = any(head.startswith(magic) for magic, _ in _UNPACKERS)
    return is_packed or head[_TAR_MAGIC_OFFSET:].startswith(_TAR_MAGIC)


def of_tar(file: BinaryIO, path: Path, wanted: Collection[str]) -> Listing:
    """Return the files of a tar, with the contents of those that may be read.

    wanted: names of files of whose kinds such are, beside scripts, notebooks and archives.
    Raises UsageError when it is none, is damaged, or unpacks to too much.
    """
    members = Members(path)
    kinds = {PurePosixPath(each).suffix.lower() for each in wanted} | _KEPT
    room = _MAX_HELD_NUM_BYTES
    stream = _Unpacked(file, path)
    try:
        # Block by block: what is held back of the stream is not looked at when the tar has ended.
        with tarfile.open(
            fileobj=cast(BinaryIO, stream), mode="r|", bufsize=_HEAD_NUM_BYTES
        ) as archive:
            for member in archive:
                name = members.place(member.name, member.isdir(), _problem_of(member))
                if name is None:
                    continue
                if PurePosixPath(name).suffix.lower() not in kinds:
                    members.listing[name] = left_out(IS_OF_NO_KIND)
                    continue
                entry = _entry(archive, member)
                members.take(name, entry, max(0, min(int(member.mtime), _MAX_TIME_S)))
                room -= entry.num_bytes if entry.num_bytes <= MAX_FILE_NUM_BYTES else 0
                if room < 0:
                    raise _too_much(path, _MAX_HELD_NUM_BYTES)
        # Only at its end does a packed file say whether it is whole.
        while stream.read(_PIECE_NUM_BYTES):
            pass
    except _NOT_A_TAR as error:
        raise UsageError(
            f"{path} cannot be unpacked as a tar ({names.shown_text(str(error))[:200]}); make the "
            "archive again"
        ) from None
    return members.listing


def _problem_of(member: tarfile.TarInfo) -> str:
    if member.issym() or member.islnk():
        return IS_A_LINK
    if member.sparse is not None:
        return "is a sparse file, which can claim any size"
    return "" if member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) else IS_SPECIAL


def _entry(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Entry:
    """Return the file that comes next in the archive: with its content, unless it is too large."""
    if member.size > MAX_FILE_NUM_BYTES:
        return Entry(lambda: b"", member.size)
    content = archive.extractfile(member)
    assert content is not None  # it is a regular file
    data = content.read(member.size)
    if len(data) < member.size:
        raise EOFError(f"{names.shown([member.name])} ends early")
    return in_memory(data)


def _too_much(path: Path, num_bytes: int) -> UsageError:
    return UsageError(
        f"{path} unpacks to more than {num_bytes >> 20} MiB; leave data files out of the archive"
    )


class _Unpacked:
    """The bytes of a file, unpacked; counts them."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        head = file.read(_HEAD_NUM_BYTES)
        file.seek(0)
        unpack = next((make for magic, make in _UNPACKERS if head.startswith(magic)), None)
        self._packed = file
        self._stream = file if unpack is None else cast(BinaryIO, unpack(file))
        self._path = path
        self._num_bytes = 0
        self._num_empty_reads = 0

    def read(self, num_bytes: int) -> bytes:
        """Return some bytes, none at the end. Raises UsageError for too many, EOFError."""
        data = self._stream.read(num_bytes)
        self._num_empty_reads += not data
        if self._num_empty_reads > _MAX_EMPTY_READS:
            raise EOFError("it ends early")
        self._num_bytes += len(data)
        packed = self._packed.tell()
        if self._num_bytes > _MAX_UNPACKED_NUM_BYTES:
            raise _too_much(self._path, _MAX_UNPACKED_NUM_BYTES)
        if self._num_bytes > max(_MAX_RATIO * packed, _UNSUSPICIOUS_NUM_BYTES):
            raise _too_much(self._path, _UNSUSPICIOUS_NUM_BYTES)
        return data
