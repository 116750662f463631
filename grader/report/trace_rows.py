"""Turns the calls of one rank into rows: numbered, timed, requests tied to what completes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeGuard

from grader.judge.wording import name_of, place_of
from grader.mpi.functions import COLLECTIVES, ROOTED_COLLECTIVES
from grader.mpi.stalled_run import PROBES
from grader.trace.calls import ANY_SOURCE, ANY_TAG, NO_PEER, PROC_NULL, Call, RankTrace

_NS_PER_MS = 1e6


class State(StrEnum):
    """What became of a call."""

    COMPLETED = "completed"
    WAITING = "still waiting"
    """The rank is in this call."""
    NEVER = "never completed"
    """A request that no wait or test has completed."""
    FREED = "freed"
    CANCELLED = "cancelled"
    EMPTY = "came back empty"
    """A test or probe; repeated ones are one call."""
    UNKNOWN = "not seen to end"
    """Such as an operation that DistributedDataParallel waits for in C++."""
    ERROR = "error"


@dataclass(frozen=True)
class Row:
    """One call of one rank."""

    rank: int
    number: int
    """1, 2, ... among the calls of this rank that are shown."""
    call: Call
    name: str
    """As the student wrote it: `Isend`, `comm.allreduce`."""
    began_ms: float
    """Since the case began."""
    lasted_ms: float | None
    """How long the rank was in the call; None where that is not known."""
    place: str
    """`ring.py:31`; empty where the line is not known."""
    num_bytes: int | None
    """Sent, given to a collective, really received; of a receive under way what it has room for."""
    waits_for: tuple[int, ...]
    """Numbers of the calls whose requests this one waits for or tests."""
    completes: tuple[int, ...]
    """Those of them that it has completed."""
    completed_by: int | None
    """The number of the call that has completed the request which this one has made."""
    state: State

    @property
    def is_request(self) -> bool:
        """Return whether the call leaves something under way."""
        return self.call.creates_request


def rows_of(rank: int, seen: RankTrace, began_ns: int) -> list[Row]:
    """Return the calls of one rank in their order; began_ns: when the case began."""
    numbers = {call.sequence: number for number, call in enumerate(seen.calls, 1)}
    by_sequence = {call.sequence: call for call in seen.calls}
    completed_by = _completed_by(seen.calls, by_sequence)
    completes: dict[int, list[int]] = {}
    for request, completion in completed_by.items():
        completes.setdefault(completion, []).append(numbers[request])
    inside = by_sequence.get(seen.inside)
    waiting = {seen.inside, *_halves(inside)}
    return [
        Row(
            rank=rank,
            number=number,
            call=call,
            name=name_of(call),
            began_ms=(call.entered_ns - began_ns) / _NS_PER_MS,
            lasted_ms=(call.left_ns - call.entered_ns) / _NS_PER_MS if call.left_ns else None,
            place=place_of(call),
            num_bytes=_num_bytes(call),
            waits_for=tuple(
                numbers[each] for each in call.waits_for if _is_request(by_sequence.get(each))
            ),
            completes=tuple(sorted(completes.get(call.sequence, ()))),
            completed_by=numbers.get(completed_by.get(call.sequence, -1)),
            state=_state(call, is_waiting=call.sequence in waiting),
        )
        for number, call in enumerate(seen.calls, 1)
    ]


def _completed_by(calls: Sequence[Call], by_sequence: Mapping[int, Call]) -> dict[int, int]:
    """Return by the sequence of a request that of the wait or test which has completed it.

    That is the last one to ask for it before it was complete.
    """
    found = {}
    for call in calls:
        for sequence in call.waits_for:
            request = by_sequence.get(sequence)
            if _is_request(request) and call.entered_ns <= request.completed_ns:
                found[sequence] = call.sequence
    return found


def _is_request(call: Call | None) -> TypeGuard[Call]:
    return call is not None and call.creates_request


def _halves(call: Call | None) -> tuple[int, ...]:
    """Return the sequences of both halves of a Sendrecv, which name each other."""
    return call.waits_for if call is not None and (call.is_send or call.is_receive) else ()


def _num_bytes(call: Call) -> int | None:
    num_bytes = call.received_num_bytes if call.received_num_bytes >= 0 else call.num_bytes
    return num_bytes if num_bytes >= 0 else None


def _state(call: Call, *, is_waiting: bool) -> State:
    if call.error:
        return State.ERROR
    if call.cancelled:
        return State.CANCELLED
    if is_waiting:
        return State.WAITING
    if call.creates_request:
        if call.completed_ns:
            return State.COMPLETED
        return State.FREED if call.request_freed else State.NEVER
    if call.failed_polls:
        return State.EMPTY
    return State.COMPLETED if call.left_ns or call.completed_ns else State.UNKNOWN


def peer_text(row: Row) -> str:
    """Return `to 1`, `from 3`, `from 2 (any)`, `root 0`; for a wait the calls it is about."""
    call = row.call
    if row.waits_for:
        asked = number_runs(row.waits_for)
        some = 0 < len(row.completes) < len(row.waits_for)
        return f"{number_runs(row.completes)} of {asked}" if some else f"for {asked}"
    if call.peer == NO_PEER:
        return ""
    if call.function in COLLECTIVES:
        return f"root {call.peer}" if call.function in ROOTED_COLLECTIVES else ""
    if call.peer == PROC_NULL:
        return "to nobody" if call.is_send else "from nobody"
    if call.peer == ANY_SOURCE:
        known = call.matched_source >= 0
        return f"from {call.matched_source} (any)" if known else "from any"
    if call.is_send:
        return f"to {call.peer}"
    return f"{'from' if call.is_receive or call.function in PROBES else 'rank'} {call.peer}"


def tag_text(row: Row) -> str:
    """Return the tag of a message or probe; empty for what has none."""
    call = row.call
    if row.waits_for or call.peer == NO_PEER or call.function in COLLECTIVES:
        return ""
    if call.tag != ANY_TAG:
        return str(call.tag)
    return f"{call.matched_tag} (any)" if call.matched_tag >= 0 else "any"


def number_runs(numbers: Sequence[int], sign: str = "#") -> str:
    """Return `#1-3`, `#1, #4`, or for many `#1 ... #90`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    texts = [f"{sign}{'-'.join(map(str, run))}" for run in runs]
    return ", ".join(texts) if len(texts) < 3 else f"{texts[0]} ... {texts[-1]}"
