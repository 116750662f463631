"""Why the calls of a case prove nothing: they contradict each other, MPI, gloo or the kernel."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from grader.judge.explanation.bytes_carried import (
    Doubt,
    most_by_gloo,
    most_by_mpi,
    unexplained,
    unrecorded_payloads,
)
from grader.judge.traffic.counting import bytes_text, only_prepare
from grader.model.errors import GraderError
from grader.model.plural import counted
from grader.recording.launch_plan import LaunchPlan
from grader.recording.observation import CaseObservation
from grader.trace.call_formatting import at, name_of
from grader.trace.calls import PROC_NULL, Calls, Counted, Mask, RankTrace, Trace
from grader.trace.functions import PARTITIONED, TESTS_FOR_ALL, TESTS_FOR_ANY, TORCH_POINT_TO_POINT
from grader.trace.pending_requests import have_got

_MAX_DOUBTS = 4


class TraceDoubts:
    """Looks at the cases of one launch, one after the other."""

    def __init__(self, plan: LaunchPlan) -> None:
        self._plan = plan
        self._in_flight = InFlight()
        self._is_counted: list[bool] = []

    def of(self, case: CaseObservation) -> tuple[Doubt, ...]:
        """Return why the calls of a case prove nothing. Raises GraderError without counts."""
        plan, ranks, trace = self._plan, case.ranks, case.trace
        before = [rank.counted_before for rank in ranks]
        after = [rank.counted_after for rank in ranks]
        # As it is before anything of the student's has run; a rank that says no later has lied.
        self._is_counted = self._is_counted or [each is not None for each in before]
        stopped = []
        for rank, seen in enumerate(trace.ranks):
            if not (plan.is_mpi and seen.attached and seen.initialised and after[rank] is None):
                continue
            if not self._is_counted[rank]:
                raise GraderError(
                    f"MPI does not count rank {rank}'s messages, so the grader cannot confirm "
                    "them: Open MPI needs its pml_monitoring component"
                )
            text = f"MPI stopped counting rank {rank}'s messages"
            stopped.append(Doubt(text, (rank,)))
        sent_or_received, self._in_flight = disagreements(trace, self._in_flight)
        sent_by_gloo = [rank.sent_by_gloo for rank in ranks if rank.sent_by_gloo is not None]
        if plan.is_mpi:
            most_num_bytes = most_by_mpi(trace, starts=plan.standalone)
        else:
            most_num_bytes = most_by_gloo(trace)
        found = [
            *stopped,
            *unrecorded([rank.num_nested for rank in ranks]),
            *beside_calls([rank.num_beside_calls for rank in ranks]),
            *contradictions(trace, case.began_ns, case.read_ns),
            *sent_or_received,
            *unrecorded_payloads(trace, sent_by_gloo),
            *unexplained(trace, case.carried_num_bytes, most_num_bytes),
            *miscounts(trace.of_phases(plan.student_phases), before, after),
        ]
        return tuple(found[:_MAX_DOUBTS])


Rows = NDArray[np.int64]
"""Of messages: world rank of the sender, tag, communicator, size in bytes, rank of the receiver."""
_NOT_COUNTED_BY_MPI = frozenset({"Start", "Startall"})
_POLLS = TESTS_FOR_ALL | TESTS_FOR_ANY | {"Iprobe", "Improbe"}


@dataclass(frozen=True, eq=False)
class InFlight:
    """Messages of earlier cases of a run that nobody has received yet."""

    rows: Rows = field(default_factory=lambda: np.zeros((0, 5), np.int64))
    """All different."""
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """How many messages each row is."""
    is_known: bool = True
    """Calls have been lost: what is received from now on may have been sent by one of them."""


def contradictions(trace: Trace, began_ns: int, read_ns: int) -> Iterator[Doubt]:
    """Yield where the records of one rank cannot be what an honest recorder writes."""
    for rank, seen in enumerate(trace.ranks):
        for text in _disorder(rank, seen, began_ns, read_ns):
            yield Doubt(text, (rank,))


def disagreements(trace: Trace, in_flight: InFlight) -> tuple[list[Doubt], InFlight]:
    """Return which messages were received that nobody sent, and what is still under way.

    A message that nobody receives is legal. Sizes are compared without order: threads of one rank
    may post receives in another order than they are recorded in. What torch receives has no size
    of its own in a trace; there only numbers are compared.
    trace: the calls of one case, of every phase.
    """
    if not in_flight.is_known or any(seen.truncated or not seen.attached for seen in trace.ranks):
        return [], InFlight(is_known=False)
    sent, received = [in_flight.rows], []
    for rank, seen in enumerate(trace.ranks):
        sends = seen.calls.where(_may_send(seen.calls))
        sent.append(_rows(sends, rank, sends.column("peer")))
        receives = seen.calls.where(have_got(seen.calls))
        received.append(_rows(receives, receives.column("matched_source"), rank))
    rows = np.concatenate(sent + received)
    num_sent = np.zeros(len(rows), np.int64)
    num_sent[: sum(map(len, sent))] = 1
    num_sent[: len(in_flight.rows)] = in_flight.numbers
    order = np.lexsort(rows.T)
    rows, num_sent = rows[order], num_sent[order]
    is_another = (rows[1:] != rows[:-1]).any(axis=1)
    first = np.flatnonzero(np.concatenate([[len(rows) > 0], is_another]))
    rows, num_received = rows[first], np.add.reduceat(num_sent == 0, first, dtype=np.int64)
    num_sent = np.add.reduceat(num_sent, first)
    doubts = [
        _unsent(trace, received, rows[index], num_sent[index])
        for index in np.flatnonzero(num_received > num_sent)[: len(trace.ranks)]
    ]
    is_left = num_sent > num_received
    return doubts, InFlight(rows[is_left], (num_sent - num_received)[is_left])


def miscounts(
    trace: Trace, before: Sequence[Counted | None], after: Sequence[Counted | None]
) -> Iterator[Doubt]:
    """Yield where a rank's records differ from what MPI itself counted below them."""
    for rank, seen in enumerate(trace.ranks):
        first, last = before[rank], after[rank]
        if first is None or last is None or seen.truncated or not seen.attached:
            continue
        partitioned = seen.calls.where(seen.calls.function_is(PARTITIONED.__contains__))
        if partitioned:
            yield Doubt(
                f"rank {rank} called {name_of(partitioned[0])}{at(partitioned[0])}, "
                "whose messages MPI does not count",
                (rank,),
            )
            continue
        is_counted = _may_send(seen.calls) & (seen.calls.column("error") == 0)
        is_counted &= ~seen.calls.function_is(_NOT_COUNTED_BY_MPI.__contains__)
        sent = seen.calls.where(is_counted)
        for peer in range(len(trace.ranks)):
            recorded = sent.where(sent.column("peer") == peer)
            num_messages, num_bytes = len(recorded), recorded.total("num_bytes")
            counted_messages = _at(last.num_messages, peer) - _at(first.num_messages, peer)
            counted_bytes = _at(last.num_bytes, peer) - _at(first.num_bytes, peer)
            if (counted_messages, counted_bytes) != (num_messages, num_bytes):
                yield Doubt(
                    f"rank {rank} recorded {counted(num_messages, 'message')} to rank {peer} "
                    f"({bytes_text(num_bytes)}), but MPI itself counted {counted_messages} "
                    f"({bytes_text(counted_bytes)})",
                    (rank,),
                )


def unrecorded(nums_nested: Sequence[int]) -> Iterator[Doubt]:
    """Yield which ranks made calls that leave no record: by a function that MPI had called."""
    for rank, number in enumerate(nums_nested):
        if number:
            yield Doubt(
                f"rank {rank} called MPI inside a function that MPI itself calls (for a "
                "reduction or an attribute); the grader does not record such calls",
                (rank,),
            )


def beside_calls(nums_messages: Sequence[int]) -> Iterator[Doubt]:
    """Yield on which ranks MPI sent messages as it does in collectives, but in no call."""
    for rank, number in enumerate(nums_messages):
        if number:
            yield Doubt(
                f"on rank {rank}, MPI sent {counted(number, 'message')} for collectives outside "
                "any recorded call",
                (rank,),
            )


def _disorder(rank: int, seen: RankTrace, began_ns: int, read_ns: int) -> Iterator[str]:
    """Yield at most one contradiction of each kind."""
    sequences = seen.calls.column("sequence")
    is_next = sequences[1:] == sequences[:-1] + 1
    is_later = sequences[1:] > sequences[:-1]
    for after in seen.calls[1:].where(~(is_later if seen.truncated else is_next & is_later))[:1]:
        yield f"rank {rank}'s calls are not numbered in sequence{at(after)}"
    # A poll is recorded after it was made, by when another thread may have written.
    timed = seen.calls.where(~seen.calls.function_is(_POLLS.__contains__))
    entered_ns = timed.column("entered_ns")
    if (entered_ns[1:] < entered_ns[:-1]).any():
        yield f"rank {rank}'s calls are not in chronological order"
    is_outside = (entered_ns < began_ns) | (entered_ns > read_ns)
    for name in ("left_ns", "completed_ns"):
        ends_ns = timed.column(name)
        is_outside |= (ends_ns > read_ns) | ((ends_ns != 0) & (ends_ns < entered_ns))
    for call in timed.where(is_outside)[:1]:
        yield f"rank {rank}'s {name_of(call)}{at(call)} has times outside the case"
    if not np.isin(seen.calls.column("phase"), (0, 1)).all():
        yield f"some of rank {rank}'s calls belong to phases that do not exist"


def _may_send(calls: Calls) -> Mask:
    """Return by which calls a message may have left, also by ones that failed later."""
    is_send = calls.flag("is_send") & (calls.column("peer") != PROC_NULL)
    may_send: Mask = is_send & ~only_prepare(calls)
    return may_send


def _rows(calls: Calls, sender: int | NDArray[np.int64], receiver: int | NDArray[np.int64]) -> Rows:
    """Return the messages that these calls have sent, or received; torch says no size."""
    is_receive = isinstance(receiver, int)
    tag, num_bytes = ("matched_tag", "received_num_bytes") if is_receive else ("tag", "num_bytes")
    is_torch = calls.function_is(TORCH_POINT_TO_POINT.__contains__)
    sizes = np.where(is_torch, -1, calls.column(num_bytes))
    fields = (sender, calls.column(tag), calls.column("communicator"), sizes, receiver)
    return np.stack(np.broadcast_arrays(*fields), axis=1)


def _unsent(trace: Trace, received: Sequence[Rows], row: Rows, num_sent: int) -> Doubt:
    """Return that a message was received that nobody sent: of those like it the first too many."""
    rank = int(row[-1])
    alike = np.flatnonzero((received[rank] == row).all(axis=1))
    calls = trace.ranks[rank].calls
    call = calls.where(have_got(calls))[int(alike[num_sent])]
    is_torch = call.function in TORCH_POINT_TO_POINT
    size_text = "" if is_torch else f" of {bytes_text(call.received_num_bytes)}"
    return Doubt(
        f"rank {rank} received a message{size_text} from rank {call.matched_source}{at(call)}, "
        f"but rank {call.matched_source} did not record sending it",
        (call.matched_source, rank),
    )


def _at(numbers: Sequence[int], index: int) -> int:
    return numbers[index] if index < len(numbers) else 0
