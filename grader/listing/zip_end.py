"""The end of a zip: refused where programs would find different lists of its files by it."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from grader.errors import UsageError

_END = struct.Struct("<4s4H2LH")
_END_SIGN, _MAX_COMMENT_NUM_BYTES = b"PK\5\6", 0xFFFF
_LOCATOR = struct.Struct("<4sLQL")
_LOCATOR_SIGN = b"PK\6\7"
_LARGE_END = struct.Struct("<4sQ4x2L4Q")
_LARGE_END_SIGN, _LARGE_END_NUM_BYTES = b"PK\6\6", 44
"""As it counts itself: without its sign and this number."""
_FULL = (0xFFFF,) * 4 + (0xFFFFFFFF,) * 2
"""Numbers of an end that are to be looked up in the record for large zips."""


@dataclass(frozen=True)
class End:
    """What the records at the end of a zip say, and where the first of them begins."""

    at: int
    numbers: tuple[int, int, int, int, int, int]
    """This disk, the list's, files on this disk, all files, size of the list, place of the list."""


def end_of(file: BinaryIO, path: Path) -> End:
    """Return what the last record says; raises UsageError where another one may be taken for it.

    Programs look for it from the file's end. Some take the first that they find, others go on to
    one whose comment reaches the end. Some prefer the record for large zips wherever there is one.
    """
    start, tail = _tail(file)
    last = tail.rfind(_END_SIGN, 0, len(tail) - _END.size + len(_END_SIGN))
    *numbers, comment_num_bytes = _END.unpack_from(tail, last)[1:]
    missing = last + _END.size + comment_num_bytes - len(tail)
    if missing:
        raise two_readings(path, "breaks off" if missing > 0 else "goes on after its end")
    if any(_reaches_the_end(tail, at) for at in _places(tail, last)):
        raise two_readings(path, "has two ends")
    return _of_large_zip(file, End(start + last, tuple(numbers)), path)


def is_zip_to_its_end(file: BinaryIO) -> bool:
    """Return whether the file ends like a zip, whatever it begins with."""
    _, tail = _tail(file)
    stop = max(len(tail) - _END.size + len(_END_SIGN), 0)
    return any(_reaches_the_end(tail, at) for at in _places(tail, stop))


def _tail(file: BinaryIO) -> tuple[int, bytes]:
    """Return where the last part of a file begins in which an end may be, and that part."""
    start = max(file.seek(0, 2) - _END.size - _MAX_COMMENT_NUM_BYTES, 0)
    file.seek(start)
    return start, file.read()


def _of_large_zip(file: BinaryIO, end: End, path: Path) -> End:
    """Return the end again, or what the record for large zips before it says, if there is one."""
    at = end.at - _LOCATOR.size - _LARGE_END.size
    if at < 0:
        return end
    file.seek(at)
    large = _LARGE_END.unpack(file.read(_LARGE_END.size))
    locator = _LOCATOR.unpack(file.read(_LOCATOR.size))
    if locator[0] != _LOCATOR_SIGN:
        return end
    is_there = locator[1:] == (0, at, 1) and large[:2] == (_LARGE_END_SIGN, _LARGE_END_NUM_BYTES)
    numbers = large[2:]
    if not is_there or any(
        number not in (full, again)
        for number, full, again in zip(end.numbers, _FULL, numbers, strict=True)
    ):
        raise two_readings(path, "has two ends")
    return End(at, numbers)


def _places(tail: bytes, stop: int) -> Iterator[int]:
    """Yield where something begins like an end record, whose sign ends before an offset."""
    at = tail.find(_END_SIGN, 0, stop)
    while at >= 0:
        yield at
        at = tail.find(_END_SIGN, at + 1, stop)


def _reaches_the_end(tail: bytes, at: int) -> bool:
    """Return whether bytes that begin like an end record have a comment up to the file's end."""
    *_, comment_num_bytes = _END.unpack_from(tail, at)
    return at + _END.size + int(comment_num_bytes) == len(tail)


def two_readings(path: Path, what: str) -> UsageError:
    """Return the error about a zip that is what is said, a verb and more."""
    return UsageError(
        f"{path} {what}, so another program may show other files in it than are graded; make the "
        "zip again"
    )
