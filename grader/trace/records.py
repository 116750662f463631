"""Turns copied records of the trace memory into calls, believing none of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from grader.trace import layout
from grader.trace.calls import Call
from grader.trace.layout import RecordFlag

# Plain numbers: every call of a run is tested against them, and an IntFlag's `&` is slow.
_IS_SEND = int(RecordFlag.IS_SEND)
_IS_RECEIVE = int(RecordFlag.IS_RECEIVE)
_CREATES_REQUEST = int(RecordFlag.CREATES_REQUEST)
_REQUEST_FREED = int(RecordFlag.REQUEST_FREED)
_CANCELLED = int(RecordFlag.CANCELLED)
_SYNCHRONOUS = int(RecordFlag.SYNCHRONOUS)
_PICKLED = int(RecordFlag.PICKLED)

_MAX_NAME_NUM_BYTES = 4096
_MAX_WAITS = 256


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


def calls_of(copy: Copy) -> tuple[list[Call], bool]:
    """Return the calls that were copied whole, and whether others are lost."""
    records = np.frombuffer(copy.records, layout.RECORD)
    waits = np.frombuffer(copy.waits, "<u8")
    names = _Names(copy.names)
    lost = copy.first > copy.wanted and copy.head > copy.wanted
    calls = []
    for sequence, values in enumerate(records.tolist(), copy.first):
        record = dict(zip(layout.RECORD.names or (), values, strict=True))
        if sequence < copy.oldest or record["stamp"] != (sequence + 1) % (1 << 64):
            lost = True
            continue
        waits_for = _waits_of(record, waits, copy)
        lost = lost or waits_for is None
        calls.append(_call(sequence, record, waits_for or (), names))
    return calls, lost


def _waits_of(
    record: dict[str, Any], waits: np.ndarray[Any, Any], copy: Copy
) -> tuple[int, ...] | None:
    """Return the sequences that a record waits for; None when they were overwritten."""
    number, first = record["num_waits"], record["first_wait"]
    if number == 0:
        return ()
    if number > _MAX_WAITS or first < copy.oldest_wait or first + number > copy.waits_reserved:
        return None
    return tuple(int(waits[(first + offset) % copy.num_waits]) for offset in range(number))


class _Names:
    """The names of functions and files, which records give by where they begin."""

    def __init__(self, names: bytes) -> None:
        self._names = names
        self.at = cache(self._at)

    def _at(self, offset: int) -> str:
        """Return the name at a byte offset, with nothing in it that a terminal would obey."""
        return printable(self._names[offset : offset + _MAX_NAME_NUM_BYTES])


def printable(raw: bytes) -> str:
    """Return a text that ends at the first NUL, with nothing in it that a terminal would obey."""
    text = raw.split(b"\0", 1)[0].decode(errors="replace")
    return "".join(character if character.isprintable() else "?" for character in text)


def _call(sequence: int, record: dict[str, Any], waits_for: Sequence[int], names: _Names) -> Call:
    flags = record["flags"]
    return Call(
        sequence=sequence,
        function=names.at(record["function"]),
        peer=record["peer"],
        tag=record["tag"],
        communicator=record["communicator"],
        communicator_size=record["communicator_size"],
        num_elements=record["num_elements"],
        num_bytes=record["num_bytes"],
        entered_ns=record["entered_ns"],
        left_ns=record["left_ns"],
        completed_ns=record["completed_ns"],
        is_send=bool(flags & _IS_SEND),
        is_receive=bool(flags & _IS_RECEIVE),
        creates_request=bool(flags & _CREATES_REQUEST),
        request_freed=bool(flags & _REQUEST_FREED),
        cancelled=bool(flags & _CANCELLED),
        synchronous=bool(flags & _SYNCHRONOUS),
        pickled=bool(flags & _PICKLED),
        matched_source=record["matched_source"],
        matched_tag=record["matched_tag"],
        received_num_bytes=record["received_num_bytes"],
        failed_polls=record["failed_polls"],
        waits_for=tuple(waits_for),
        phase=record["phase"],
        error=record["error"],
        file=names.at(record["file"]),
        line=record["line"],
        place=record["place"],
    )
