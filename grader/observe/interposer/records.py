"""Turns copied records of the trace memory into calls, believing none of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.trace import layout
from grader.trace.calls import Calls
from grader.trace.packed_records import RECORD, Records

_AS_WRITTEN = sorted(set(layout.RECORD.names or ()) & set(RECORD.names or ()))
_MAX_NAME_NUM_BYTES = 4096
_MAX_WAITS = 256
_LAST_SEQUENCE = np.uint64(2**63 - 1)
_HALVES = 2
"""A list of waits may be that of two records: of both halves of an exchange."""


@dataclass(frozen=True)
class Copy:
    """What was copied out of a trace memory, and what of it can be whole."""

    wanted: int
    """The sequence from which on calls were asked for."""
    first: int
    """The sequence of the first copied record."""
    head: int
    """Calls there had been when the copy began."""
    num_waits: int
    """Length of the list of waits, beyond which it begins anew."""
    waits_reserved: int
    """Entries that had ever been made in it; `waits` holds as many, or all there is room for."""
    oldest: int
    """Records of earlier calls were overwritten before the copy ended."""
    oldest_wait: int
    """The same for entries of the list of waits."""
    records: bytes
    waits: bytes
    names: bytes
    overwritten: bytes = b""
    """The student's last lost record of each function, at any place."""


def calls_of(copy: Copy) -> tuple[Calls, bool]:
    """Return the calls that were copied whole, and whether others are lost.

    Of the student's that are lost, the last one of each function is there all the same.
    """
    written = np.frombuffer(copy.records, layout.RECORD)
    sequences = np.uint64(min(copy.first, int(_LAST_SEQUENCE))) + np.arange(
        len(written), dtype="<u8"
    )
    # Nobody gets beyond the last signed number, which a rank may write all the same.
    is_whole = (written["stamp"] == sequences + np.uint64(1)) & (sequences <= _LAST_SEQUENCE)
    if copy.oldest > 0:
        is_whole &= sequences >= np.uint64(copy.oldest)
    all_whole = bool(is_whole.all())
    lost = (copy.first > copy.wanted and copy.head > copy.wanted) or not all_whole
    if not all_whole:
        written, sequences = written[is_whole], sequences[is_whole]
    overwritten = _overwritten(copy)
    written = np.concatenate((overwritten, written))
    sequences = np.concatenate((overwritten["stamp"] - np.uint64(1), sequences))
    kept = np.zeros(len(written), RECORD)
    for name in _AS_WRITTEN:
        kept[name] = written[name]
    kept["sequence"] = sequences.astype("<i8")
    names = _name_records(kept, copy.names)
    is_readable = _have_readable_waits(written, copy)
    kept["num_waits"][~is_readable] = 0
    waits = _keep_waits(kept, copy)
    return Calls(Records(kept), names, waits), bool(lost or not is_readable.all())


def _overwritten(copy: Copy) -> NDArray[Any]:
    """Return the records that were kept of lost calls among those asked for, in their order."""
    records = np.frombuffer(copy.overwritten, layout.RECORD)
    stamps, first = records["stamp"], min(max(copy.first, copy.oldest), int(_LAST_SEQUENCE))
    records = np.sort(records[(stamps > copy.wanted) & (stamps <= first)], order="stamp")
    # Of two of one sequence, which nobody writes, one is kept.
    return records[np.diff(records["stamp"], prepend=np.uint64(0)) > 0]


def _have_readable_waits(written: NDArray[Any], copy: Copy) -> NDArray[np.bool_]:
    """Return which records' lists of waits were copied whole.

    None where they are longer than the memory: then they overlap, as nobody writes them.
    """
    first, number = written["first_wait"], written["num_waits"]
    reserved = np.uint64(copy.waits_reserved)
    is_readable = (first <= reserved) & (number <= reserved - np.minimum(first, reserved))
    is_readable &= number <= _MAX_WAITS
    if copy.oldest_wait > 0:
        is_readable &= first >= np.uint64(copy.oldest_wait)
    is_readable |= number == 0
    if number[is_readable].sum(dtype=np.uint64) > _HALVES * copy.num_waits:
        return np.zeros(len(written), np.bool_)
    return np.asarray(is_readable, np.bool_)


def _keep_waits(kept: NDArray[Any], copy: Copy) -> NDArray[Any]:
    """Return the lists of waits one after the other, and let the records say where theirs are."""
    number = kept["num_waits"].astype("<i8")
    ends = np.cumsum(number)
    places = np.repeat(kept["first_wait"] - (ends - number), number)
    places = (places + np.arange(len(places))) % copy.num_waits
    kept["first_wait"] = ends - number
    return np.frombuffer(copy.waits, "<i8")[places]


def _name_records(kept: NDArray[Any], names: bytes) -> tuple[str, ...]:
    """Return the names of functions and files, and number them in the records.

    In the memory a record says where its name begins, which is right after another one: what
    begins elsewhere would let a few bytes be a great many long names.
    """
    # No name begins at the end of the names, or beyond it.
    offsets = {name: np.minimum(kept[name], len(names)) for name in ("function", "file")}
    is_used = np.zeros(len(names) + 1, np.bool_)
    is_used[0] = True
    for each in offsets.values():
        is_used[each] = True
    numbers = np.cumsum(is_used) - 1
    for name, each in offsets.items():
        kept[name] = numbers.take(each)
    different = np.flatnonzero(is_used)
    return tuple(
        printable(names[offset : offset + _MAX_NAME_NUM_BYTES])
        if offset == 0 or names[offset - 1 : offset] == b"\0"
        else ""
        for offset in different.tolist()
    )


def printable(raw: bytes) -> str:
    """Return a text that ends at the first NUL, with nothing in it that a terminal would obey."""
    text = raw.split(b"\0", 1)[0].decode(errors="replace")
    return "".join(character if character.isprintable() else "?" for character in text)
