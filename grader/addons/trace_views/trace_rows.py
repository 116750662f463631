"""The calls of a case as rows, with requests linked to the calls that complete them, and sums."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from grader.judge.explanation import timeline
from grader.judge.traffic.counting import sends_of
from grader.model.evidence import Evidence
from grader.model.plural import counted
from grader.model.report import RunFailure, TestResult
from grader.trace.call_formatting import name_of, place_of
from grader.trace.calls import ANY_SOURCE, ANY_TAG, NO_PEER, PROC_NULL, Call, RankTrace, Trace
from grader.trace.functions import COLLECTIVES, ROOTED_COLLECTIVES
from grader.trace.pending_requests import has_got
from grader.trace.wait_for_graph import PROBES

Key = TypeVar("Key")
_NS_PER_MS = 1e6


@dataclass(frozen=True)
class TracedCase:
    """One case that ran on ranks."""

    number: int
    """1, 2, ... over all launches: what --case takes."""
    launch: int
    """1, 2, ..."""
    test: str
    """The test that started the launch; others may use its outcomes, too."""
    ranks: int
    label: str
    num_calls: int
    failure: RunFailure | None
    """Why it has no outcome."""
    stand_in: str = ""
    """The part whose file is the course's in this launch; empty if all files are the student's."""
    is_altered: bool = False
    """One or all of its messages were altered on the way, which may be why the case fails."""
    trace: Trace | None = None
    """The calls of the student's code up to its end; None if they are not kept."""
    began_ns: int = 0
    """When the ranks got its inputs, on the clock of the calls."""
    num_others: int = 0
    """Calls outside the student's phase: ours, and calls that no rule concerns."""

    def ends(self, test: TestResult) -> bool:
        """Return whether a test failed because this case has no outcome."""
        start = f"{counted(self.ranks, 'rank')}, {self.label}: "
        return self.failure is not None and test.message in (
            self.failure.message,
            f"{start}{self.failure.message}",
        )


@dataclass(frozen=True)
class Traced:
    """All cases, and which of them is shown with its calls."""

    assignment: str
    part: str
    submission: str
    tests: tuple[TestResult, ...]
    """The results of the tests that ran."""
    cases: tuple[TracedCase, ...]
    chosen: TracedCase

    @property
    def trace(self) -> Trace:
        """Return the calls of the chosen case."""
        return self.chosen.trace or Trace(())

    @property
    def evidence(self) -> Evidence:
        """Return the chosen case for a drawing, with all its calls and messages."""
        most = self.trace.num_calls
        drawn = timeline.timeline_of(self.trace, most_spans=most, most_messages=most)
        case = f"{counted(self.chosen.ranks, 'rank')}, {self.chosen.label}"
        return Evidence(
            case, self.chosen.ranks, edges=timeline.edges_of(self.trace), timeline=drawn
        )


class State(StrEnum):
    """How a call ended, or that it did not."""

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
    """Sent, passed to a collective, or received; for a pending receive, the size of its buffer."""
    waits_for: tuple[int, ...]
    """Numbers of the calls whose requests this one waits for or tests."""
    completes: tuple[int, ...]
    """The ones among them that it has completed."""
    completed_by: int | None
    """The number of the call that completed this call's request."""
    state: State

    @property
    def communicator(self) -> int | None:
        """Return the number of the call's communicator; None if it has none."""
        number = self.call.communicator
        return None if number < 0 or self.waits_for else number


def rows_of(rank: int, seen: RankTrace, began_ns: int) -> list[Row]:
    """Return the calls of one rank in their order; began_ns: when the case began."""
    calls = list(seen.calls)
    numbers = {call.sequence: number for number, call in enumerate(calls, 1)}
    requests = {call.sequence: call for call in calls if call.creates_request}
    completed_by: dict[int, int] = {}
    for number, call in enumerate(calls, 1):
        for each in call.waits_for:
            # The last call to wait for a request before it was complete has completed it.
            if each in requests and call.entered_ns <= requests[each].completed_ns:
                completed_by[each] = number
    waiting = {seen.inside}
    for call in calls:
        if call.sequence == seen.inside and (call.is_send or call.is_receive):
            waiting |= set(call.waits_for)  # both halves of a Sendrecv name each other
    rows = []
    for number, call in enumerate(calls, 1):
        asked = [each for each in call.waits_for if each in requests]
        row = Row(
            rank=rank,
            number=number,
            call=call,
            name=name_of(call),
            began_ms=(call.entered_ns - began_ns) / _NS_PER_MS,
            lasted_ms=(call.left_ns - call.entered_ns) / _NS_PER_MS if call.left_ns else None,
            place=place_of(call),
            num_bytes=_num_bytes(call),
            waits_for=tuple(numbers[each] for each in asked),
            completes=tuple(
                sorted({numbers[each] for each in asked if completed_by.get(each) == number})
            ),
            completed_by=completed_by.get(call.sequence),
            state=_state(call, is_waiting=call.sequence in waiting),
        )
        rows.append(row)
    return rows


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
    """Return `to 1`, `from 3`, `from 2 (any)`, `root 0`; for a wait, the calls it waits for."""
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
        return "to no rank" if call.is_send else "from no rank"
    if call.peer == ANY_SOURCE:
        known = call.matched_source >= 0
        return f"from {call.matched_source} (any)" if known else "from any"
    if call.is_send:
        return f"to {call.peer}"
    return f"{'from' if call.is_receive or call.function in PROBES else 'rank'} {call.peer}"


def tag_text(row: Row) -> str:
    """Return the tag of a message or probe; empty for other calls."""
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


@dataclass(frozen=True)
class Messages:
    """The number of messages, their bytes in all, and the largest; zeros if there are none."""

    number: int
    num_bytes: int
    largest_num_bytes: int


@dataclass(frozen=True)
class Figures:
    """Sums over the calls of one rank."""

    num_calls: int
    sent: Messages
    """To other ranks, as rules count them."""
    received: Messages
    """From other ranks: messages that have arrived."""
    collectives: Messages
    """Collective calls, and what the rank passed to them."""
    num_unfinished: int
    """Calls and requests that have not completed."""


@dataclass(frozen=True)
class Communicator:
    """The communicator of a call."""

    name: str
    """`world`, or a letter in order of first use."""
    size: int


def figures_of(trace: Trace, rows: Sequence[Sequence[Row]]) -> list[Figures]:
    """Return the figures of each rank. rows: of each rank."""
    return [
        Figures(
            num_calls=len(own),
            sent=_messages([call.num_bytes for call in sends_of(trace, rank)]),
            received=_messages([row.num_bytes or 0 for row in own if _has_received(row)]),
            collectives=_messages([row.num_bytes or 0 for row in own if _is_collective(row)]),
            num_unfinished=sum(row.state in (State.WAITING, State.NEVER) for row in own),
        )
        for rank, own in enumerate(rows)
    ]


def edges_of(trace: Trace) -> dict[tuple[int, int], Messages]:
    """Return what each rank sent to each other one, by pairs: the sender comes first."""
    sends = [(rank, call) for rank in range(len(trace.ranks)) for call in sends_of(trace, rank)]
    found = _by_key(((rank, call.peer), call.num_bytes) for rank, call in sends)
    return {pair: found[pair] for pair in sorted(found)}


def collectives_of(rows: Sequence[Sequence[Row]]) -> dict[tuple[str, int], Messages]:
    """Return the collectives that were called, by their name and the rank that called them."""
    calls = (row for own in rows for row in own if _is_collective(row))
    return _by_key(((row.name, row.rank), row.num_bytes or 0) for row in calls)


def communicators_of(rows: Sequence[Sequence[Row]]) -> dict[int | None, Communicator]:
    """Return the communicators in use by number, in order of first use, `world` last."""
    ordered = sorted((row for own in rows for row in own), key=lambda row: row.began_ms)
    sizes = {row.call.communicator: row.call.communicator_size for row in ordered}
    used = dict.fromkeys(row.communicator for row in ordered if row.communicator is not None)
    others = [number for number in used if number]
    names = {
        number: chr(ord("A") + index) if index < 26 else f"c{index + 1}"
        for index, number in enumerate(others)
    }
    if 0 in used:
        names[0] = "world"
    return {number: Communicator(name, sizes[number]) for number, name in names.items()}


def _has_received(row: Row) -> bool:
    call = row.call
    return has_got(call) and call.is_receive and call.matched_source not in (row.rank, -1)


def _is_collective(row: Row) -> bool:
    return row.call.function in COLLECTIVES


def _by_key(sized: Iterable[tuple[Key, int]]) -> dict[Key, Messages]:
    sizes: dict[Key, list[int]] = {}
    for key, num_bytes in sized:
        sizes.setdefault(key, []).append(num_bytes)
    return {key: _messages(found) for key, found in sizes.items()}


def _messages(sizes: Sequence[int]) -> Messages:
    return Messages(len(sizes), sum(sizes), max(sizes, default=0))
