"""Where the contents of a zip's files end: refused where programs would find different ends."""

import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

from grader.errors import UsageError
from grader.listing.zip_end import two_readings

ENCRYPTED = 0x1
"""A flag of a file whose content nobody reads without a password."""
_MAX_UNPACKED_NUM_BYTES = 1 << 30
_PIECE_NUM_BYTES = 1 << 20


class Contents:
    """The contents of one zip, which are unpacked for nothing but their ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._num_bytes = 0

    def refuse_other_end(self, file: BinaryIO, member: zipfile.ZipInfo, shown: str) -> None:
        """Raise UsageError where a content ends elsewhere than the list of the zip says.

        Programs that read a zip from its beginning take what comes after a packed content for the
        next file; others show all of a content, however long it is said to be. file: is where the
        content begins. shown: the member's name. Raises it, too, where the contents are too much.
        """
        if member.flag_bits & ENCRYPTED:
            return
        if member.compress_type == zipfile.ZIP_STORED:
            num_bytes, num_unused = member.compress_size, 0
        elif member.compress_type == zipfile.ZIP_DEFLATED:
            num_bytes, num_unused = self._unpacked(file, member)
        else:
            return
        if num_unused:
            raise two_readings(self._path, f"holds other bytes behind the content of {shown}")
        if num_bytes > member.file_size:
            raise two_readings(self._path, f"says two things of the size of {shown}")

    def _unpacked(self, file: BinaryIO, member: zipfile.ZipInfo) -> tuple[int, int]:
        """Return how long a content is, as far as it is of interest, and what is left behind it.

        A damaged one is told where it is read.
        """
        left, num_bytes = member.compress_size, 0
        unpacking = zlib.decompressobj(-zlib.MAX_WBITS)
        packed = b""
        try:
            while not unpacking.eof and num_bytes <= member.file_size:
                if not packed:
                    packed = file.read(min(left, _PIECE_NUM_BYTES))
                    left -= len(packed)
                data = unpacking.decompress(packed, _PIECE_NUM_BYTES)
                if not data and not packed:
                    break
                packed = unpacking.unconsumed_tail
                num_bytes += len(data)
                self._count(len(data))
        except zlib.error:
            return 0, 0
        return num_bytes, left + len(unpacking.unused_data) if unpacking.eof else 0

    def _count(self, num_bytes: int) -> None:
        self._num_bytes += num_bytes
        if self._num_bytes > _MAX_UNPACKED_NUM_BYTES:
            raise UsageError(
                f"{self._path} unpacks to more than {_MAX_UNPACKED_NUM_BYTES >> 20} MiB; leave "
                "data files out of the archive"
            )
