"""The MPI calls of a run, as the interposer saw them in each rank."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from grader.trace.packed_records import BITS, NAMES, RECORD, Records, compacted

ANY_SOURCE = -1
ANY_TAG = -1
PROC_NULL = -2
NO_PEER = -3
"""A call that has no peer: a wait, a collective without root."""


@dataclass(frozen=True, slots=True)
class Call:
    """One MPI call of one rank; times in nanoseconds of CLOCK_MONOTONIC.

    Calls that only ask or describe (Comm_rank, Type_size, Get_count, ...) leave no trace.
    """

    sequence: int
    """0, 1, 2, ... in this rank; never reused."""
    function: str
    """Without prefix: `Isend`, `Waitall`, `Allreduce`."""
    peer: int
    """Rank in COMM_WORLD of the destination of a send, the source that a receive names, or the root
    of a collective; ANY_SOURCE, PROC_NULL or NO_PEER."""
    tag: int
    """Of a message; ANY_TAG of a receive that takes any. Of a reduction by an operation of MPI's
    own: its number in OPERATIONS of layout.py."""
    communicator: int
    """The same number on every rank of the communicator; 0 is COMM_WORLD, -1 none."""
    communicator_size: int
    """All processes of it; of an intercommunicator, those of both sides."""
    num_elements: int
    """Elements of the datatype as counted by the caller; -1 when the call has no count."""
    num_bytes: int
    """num_elements times the size of the datatype; -1 when the call has no count."""
    entered_ns: int
    """When the rank entered the call."""
    left_ns: int
    """0 while the rank is still inside the call."""
    completed_ns: int
    """When the message this call posted was complete on this side (for a blocking call: when it
    returned; for a request: when a wait or test completed it); 0 if never."""
    is_send: bool
    """It posts a message, blocking or not; of Sendrecv one half is a send, one a receive."""
    is_receive: bool
    """It posts a receive."""
    creates_request: bool
    """Isend, Irecv, a started persistent request, a non-blocking collective."""
    request_freed: bool
    """MPI_Request_free was called on the request before it completed."""
    cancelled: bool
    """Its request was cancelled, and no message was exchanged."""
    synchronous: bool
    """The send could not complete before its receive was posted (Ssend, or rendezvous mode)."""
    pickled: bool
    """The bytes sent began and ended like a pickle: a lower-case mpi4py call."""
    matched_source: int
    """World rank a completed receive got its message from; NO_PEER otherwise."""
    matched_tag: int
    """The tag of that message."""
    received_num_bytes: int
    """What a completed receive really got; -1 otherwise."""
    failed_polls: int
    """How often in a row this Test or Probe came back empty (a run of failed polls is one call)."""
    waits_for: tuple[int, ...]
    """For waits, tests and Sendrecv halves: sequences of the calls whose requests are waited on,
    the first 256 of them."""
    phase: int
    """The level of the last MPI_Pcontrol: 1 inside the student's phase, 0 outside."""
    error: int
    """The MPI error code the call returned; 0 is success."""
    file: str
    """Python source file of the caller; empty if unknown."""
    line: int
    """Of the caller in that file."""
    place: int = 0
    """Which instruction of the rank's Python code makes the call: equal for the same one."""
    made_by: str = ""
    """The lower-case call of mpi4py that makes this one, as a program writes it:
    `comm.allreduce`. Empty where the program may have made it itself."""
    sampled_num_bytes: int = 0
    """Of what a rank sends or gives to a collective: how many bytes of numbers, without zeros at
    their ends, samples were taken from; else 0. -1 where they are compressed, or written as
    text."""
    sample_first: int = 0
    """8 bytes from their first third as a little-endian number; of at most 8, all of them. The
    place is drawn, at a multiple of 8 from the end."""
    sample_middle: int = 0
    """8 bytes from the second third; 0 where there are at most 8."""
    sample_last: int = 0
    """8 bytes from the last third; 0 where there are at most 8."""


Mask = NDArray[np.bool_]
"""Of which calls something is true."""

_FIELDS = RECORD.names or ()
_FUNCTION, _FLAGS, _WAITS, _FILE, _MADE_BY = map(
    _FIELDS.index, ("function", "flags", "num_waits", "file", "made_by")
)
_AT_ONCE = 4096  # made into objects at a time
_MOST_SHOWN = 8  # as text
_NO_WAITS = np.zeros(0, "<i8")


class Calls(Sequence[Call]):
    """Calls of one rank in their order, kept as records: a Call is made whenever one is asked for.

    What only counts looks at columns instead; making objects of all calls takes 50 times as long.
    """

    __slots__ = ("_names", "_records", "_waits")

    def __init__(
        self, records: Records, names: Sequence[str] = (), waits: NDArray[Any] = _NO_WAITS
    ) -> None:
        """names, waits: what numbers in the records refer to."""
        self._records, self._names, self._waits = records, tuple(names), waits

    @classmethod
    def of(cls, calls: Iterable[Call]) -> "Calls":
        """Return these calls; what already is of this class as it is."""
        if isinstance(calls, Calls):
            return calls
        names: dict[str, int] = {}
        waits: list[int] = []
        rows = []
        for call in calls:
            values: dict[str, Any] = {"num_waits": len(call.waits_for), "first_wait": len(waits)}
            values["flags"] = sum(bit for name, bit in BITS.items() if getattr(call, name))
            values |= {name: getattr(call, name) for name in _FIELDS if name not in values}
            for name in NAMES:
                values[name] = names.setdefault(values[name], len(names))
            waits += call.waits_for
            rows.append(tuple(values[name] for name in _FIELDS))
        return cls(Records(np.array(rows, RECORD)), tuple(names), np.array(waits, "<i8"))

    @classmethod
    def of_whole(cls, records: NDArray[Any], names: Sequence[str], waits: NDArray[Any]) -> "Calls":
        """Return calls of which `whole` has returned these."""
        return cls(Records(records), names, waits).compacted()

    def whole(self) -> tuple[NDArray[Any], tuple[str, ...], NDArray[Any]]:
        """Return the calls as an array of RECORD, the names that it numbers, and all waits.

        The waits of one call after those of the other.
        """
        records = np.array(self._records.unpacked())
        number = records["num_waits"].astype("<i8")
        first = np.cumsum(number) - number
        places = np.repeat(records["first_wait"] - first, number) + np.arange(number.sum())
        records["first_wait"] = first
        return records, self._names, self._waits[places].astype("<i8")

    def column(self, name: str) -> NDArray[np.int64]:
        """Return one field of all calls that is a number."""
        if name in NAMES:
            raise KeyError(name)
        return self._records.column(name).astype("<i8", copy=False)

    def flag(self, name: str) -> Mask:
        """Return one field of all calls that is a truth value."""
        is_set: Mask = self._records.column("flags") & BITS[name] != 0
        return is_set

    def total(self, name: str) -> int:
        """Return the sum of a field, which does not overflow whatever a rank has written."""
        return sum(self.column(name).tolist())

    def keys(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield these fields of each call, as Python's own numbers."""
        return zip(*(self.column(name).tolist() for name in names), strict=True)

    def function_is(self, accepts: Callable[[str], object]) -> Mask:
        """Return of which calls the function is accepted."""
        if not len(self):
            return np.zeros(0, np.bool_)
        accepted = np.array([bool(accepts(name)) for name in self._names], np.bool_)
        return np.take(accepted, self._records.column("function"))

    def is_at(self, places: Iterable[tuple[str, int]]) -> Mask:
        """Return which calls are made by one of these lines, each a file and a number."""
        numbers = {name: number for number, name in enumerate(self._names)}
        wanted = [(numbers[file] << 32) + line for file, line in places if file in numbers]
        found = (self._records.column("file").astype("<i8") << 32) + self.column("line")
        return np.isin(found, wanted)

    def functions(self) -> set[str]:
        """Return the names of all functions that are called."""
        numbers = np.flatnonzero(np.bincount(self._records.column("function")))
        return {self._names[number] for number in numbers.tolist()}

    def where(self, is_wanted: Mask) -> "Calls":
        """Return the calls for which this holds; nothing is copied where it holds for all."""
        return self if is_wanted.all() else self._at(np.flatnonzero(is_wanted))

    def compacted(self) -> "Calls":
        """Return the same calls in no more memory than they need: waits of others are left out."""
        records, waits = compacted(self._records, self._waits)
        return self if records is self._records else Calls(records, self._names, waits)

    @property
    def num_bytes(self) -> int:
        """Return what these calls take of memory, with names and waits, or took before packing.

        So it does not depend on times: equal programs are treated alike.
        """
        num_numbers = len(self._waits) * _NO_WAITS.itemsize
        names = sum(map(str.__sizeof__, self._names))
        return len(self) * RECORD.itemsize + num_numbers + names

    def made_by(self, names: Mapping[str, Mask]) -> "Calls":
        """Return all calls, those of each mask with the lower-case call that makes them.

        names: as in the field of Call. Of several masks that hold for a call the last one counts.
        """
        if not any(is_meant.any() for is_meant in names.values()):
            return self
        made_by = self._records.column("made_by").copy()
        for number, is_meant in enumerate(names.values(), len(self._names)):
            made_by[is_meant] = number
        records = self._records.with_columns({"made_by": made_by})
        return Calls(records, (*self._names, *names), self._waits)

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> Call: ...

    @overload
    def __getitem__(self, index: slice) -> "Calls": ...

    def __getitem__(self, index: int | slice) -> "Call | Calls":
        if isinstance(index, slice):
            return Calls(self._records[index], self._names, self._waits)
        at = range(len(self))[index]
        return self._call(self._records[at : at + 1].unpacked()[0].item())

    def __iter__(self) -> Iterator[Call]:
        for start in range(0, len(self), _AT_ONCE):
            yield from map(self._call, self._records[start : start + _AT_ONCE].unpacked().tolist())

    def __reversed__(self) -> Iterator[Call]:
        return (self[index] for index in range(len(self) - 1, -1, -1))

    def _at(self, indices: NDArray[np.intp]) -> "Calls":
        # Records are taken by numbers in a quarter of the time that a mask needs.
        return Calls(self._records.take(indices), self._names, self._waits)

    def _call(self, values: tuple[Any, ...]) -> Call:
        *fields, first = values
        number = fields[_WAITS]
        fields[_WAITS] = tuple(self._waits[first : first + number].tolist()) if number else ()
        for name in (_FUNCTION, _FILE, _MADE_BY):
            fields[name] = self._names[fields[name]]
        fields[_FLAGS : _FLAGS + 1] = [bool(fields[_FLAGS] & bit) for bit in BITS.values()]
        return Call(*fields)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Calls | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(map(Call.__eq__, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        more = f" and {len(self) - _MOST_SHOWN} more" if len(self) > _MOST_SHOWN else ""
        return f"Calls.of({list(self[:_MOST_SHOWN])!r}){more}"


@dataclass(frozen=True)
class RankTrace:
    """What one rank called, and what it is doing now."""

    rank: int
    calls: Calls
    """May be given as any sequence of calls."""
    attached: bool
    """The interposer really ran in this rank: magic, nonce and pid are in the header."""
    initialised: bool
    finalised: bool
    inside: int
    """Sequence of the call the rank is in at this moment; -1 when it is outside MPI, and when
    several of its threads use MPI, one of which may compute. Of a Sendrecv the receive half."""
    polling: bool
    """The last thing this rank did in MPI was a poll that came back empty."""
    progress: int
    """Counts calls that came back with a result; failed polls do not count."""
    num_failed_polls: int
    """All failed polls so far; grows while a rank spins."""
    truncated: bool
    """Calls were lost because the record memory was too small: nothing can be proven."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "calls", Calls.of(self.calls))

    @classmethod
    def unseen(cls, rank: int) -> "RankTrace":
        """Return what is known of a rank that was not seen."""
        return cls(
            rank,
            Calls.of(()),
            attached=False,
            initialised=False,
            finalised=False,
            inside=-1,
            polling=False,
            progress=0,
            num_failed_polls=0,
            truncated=False,
        )


@dataclass(frozen=True)
class Counted:
    """What MPI itself counted, below the functions a program calls, of one rank's messages."""

    num_messages: tuple[int, ...]
    """By the rank they were sent to; messages to oneself count, started persistent ones do not."""
    num_bytes: tuple[int, ...]


@dataclass(frozen=True)
class Trace:
    """The calls of all ranks of a run, or of one case of it; index is the rank."""

    ranks: tuple[RankTrace, ...]
    doubts: tuple[str, ...] = ()
    """Why it can prove nothing: what contradicts itself, or what MPI itself has counted."""
    doubtful_ranks: tuple[int, ...] = ()
    """Whose records the doubts are about."""

    @property
    def num_calls(self) -> int:
        """Return how many calls all ranks together have made."""
        return sum(len(rank.calls) for rank in self.ranks)

    @property
    def num_bytes(self) -> int:
        """Return what the calls of all ranks take of memory, or took before packing."""
        return sum(rank.calls.num_bytes for rank in self.ranks)

    def of_phases(self, phases: Collection[int]) -> "Trace":
        """Return the trace with only the calls of these phases; 1 is the student's."""
        wanted = [*phases]
        return self._with(lambda calls: calls.where(np.isin(calls.column("phase"), wanted)))

    def _with(self, change: Callable[[Calls], Calls]) -> "Trace":
        ranks = (replace(seen, calls=change(seen.calls)) for seen in self.ranks)
        return replace(self, ranks=tuple(ranks))


def compacted_trace(trace: Trace) -> Trace:
    """Return the same trace in no more memory than it needs."""
    ranks = (replace(seen, calls=seen.calls.compacted()) for seen in trace.ranks)
    return replace(trace, ranks=tuple(ranks))
