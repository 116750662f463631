"""Whether what the ranks recorded can be true: against itself, each other, and MPI's own count."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from grader.judge.counting import only_prepare
from grader.judge.functions import (
    PARTITIONED,
    TESTS_FOR_ALL,
    TESTS_FOR_ANY,
    TORCH_POINT_TO_POINT,
)
from grader.judge.pending_requests import have_got
from grader.judge.wording import at, name_of
from grader.trace.calls import PROC_NULL, Call, Calls, Counted, Mask, RankTrace, Trace

Lane = tuple[int, int, int, int]
"""World ranks of sender and receiver, tag, communicator: messages here cannot overtake."""

_NOT_COUNTED_BY_MPI = frozenset({"Start", "Startall"})
_POLLS = TESTS_FOR_ALL | TESTS_FOR_ANY | {"Iprobe", "Improbe"}


@dataclass(frozen=True)
class InFlight:
    """Messages of earlier cases of a run that nobody has received yet: sizes in bytes, by lane."""

    sizes: Mapping[Lane, Counter[int]] = field(default_factory=dict)
    is_known: bool = True
    """Calls have been lost: what is received from now on may have been sent by one of them."""


def contradictions(trace: Trace, began_ns: int, read_ns: int) -> Iterator[str]:
    """Yield where the records of one rank cannot be what an honest recorder writes.

    trace: the calls of one case, of every phase. began_ns, read_ns: when the case began and when
    the trace was read, on the clock of all records.
    """
    for rank, seen in enumerate(trace.ranks):
        yield from _disorder(rank, seen, began_ns, read_ns)


def disagreements(trace: Trace, in_flight: InFlight) -> tuple[list[str], InFlight]:
    """Return which messages were received that nobody sent, and what is still under way.

    A message that nobody receives is legal. Sizes are compared without order: threads of one rank
    may post receives in another order than they are recorded in. What torch receives has no size
    of its own in a trace; there only numbers are compared.
    trace: the calls of one case, of every phase.
    """
    if not in_flight.is_known or any(seen.truncated or not seen.attached for seen in trace.ranks):
        return [], InFlight(is_known=False)
    sent = {lane: Counter(sizes) for lane, sizes in in_flight.sizes.items()}
    for rank, seen in enumerate(trace.ranks):
        calls = seen.calls.where(_may_send(seen.calls))
        for lane, number in _different(_lanes(calls, "peer", "num_bytes")):
            peer, tag, communicator, size = lane
            sent.setdefault((rank, peer, tag, communicator), Counter())[size] += number
    doubts: list[str] = []
    for rank, seen in enumerate(trace.ranks):
        calls = seen.calls.where(have_got(seen.calls))
        lanes = _lanes(calls, "matched_source", "received_num_bytes")
        for lane, number in _different(lanes):
            source, tag, communicator, size = lane
            left = sent.get((source, rank, tag, communicator), Counter())
            if number > left[size] and len(doubts) < len(trace.ranks):
                alike = np.flatnonzero((lanes == lane).all(axis=1))
                doubts.append(_unsent(rank, calls[int(alike[left[size]])]))
            left[size] = max(left[size] - number, 0)
    return doubts, InFlight({lane: +sizes for lane, sizes in sent.items() if +sizes})


def miscounts(
    trace: Trace, before: Sequence[Counted | None], after: Sequence[Counted | None]
) -> Iterator[str]:
    """Yield where a rank's records differ from what MPI itself counted below them.

    trace: the calls of the phases that `before` and `after` count; those are one for each rank.
    """
    for rank, seen in enumerate(trace.ranks):
        first, last = before[rank], after[rank]
        if first is None or last is None or seen.truncated or not seen.attached:
            continue
        partitioned = seen.calls.where(seen.calls.function_is(PARTITIONED.__contains__))
        if partitioned:
            yield (
                f"rank {rank} calls {name_of(partitioned[0])}{at(partitioned[0])}, whose messages "
                "MPI does not count like others"
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
                yield (
                    f"rank {rank} recorded {_messages(num_messages)} to rank {peer} with "
                    f"{num_bytes} bytes, and MPI itself counted {counted_messages} with "
                    f"{counted_bytes}"
                )


def unrecorded(nums_nested: Sequence[int]) -> Iterator[str]:
    """Yield which ranks made calls that leave no record: by a function that MPI had called.

    nums_nested: how many, by rank.
    """
    for rank, number in enumerate(nums_nested):
        if number:
            yield (
                f"rank {rank} calls MPI inside a function that MPI itself calls (of a reduction or "
                "an attribute), where calls are not recorded"
            )


def _disorder(rank: int, seen: RankTrace, began_ns: int, read_ns: int) -> Iterator[str]:
    """Yield at most one contradiction of each kind."""
    sequences = seen.calls.column("sequence")
    is_next = sequences[1:] == sequences[:-1] + 1
    is_later = sequences[1:] > sequences[:-1]
    for after in seen.calls[1:].where(~(is_later if seen.truncated else is_next & is_later))[:1]:
        yield f"the calls of rank {rank} are not numbered one after the other{at(after)}"
    # A poll is recorded after it was made, by when another thread may have written.
    timed = seen.calls.where(~seen.calls.function_is(_POLLS.__contains__))
    entered_ns = timed.column("entered_ns")
    if (entered_ns[1:] < entered_ns[:-1]).any():
        yield f"the calls of rank {rank} are not in the order of their times"
    is_outside = (entered_ns < began_ns) | (entered_ns > read_ns)
    for name in ("left_ns", "completed_ns"):
        ends_ns = timed.column(name)
        is_outside |= (ends_ns > read_ns) | ((ends_ns != 0) & (ends_ns < entered_ns))
    for call in timed.where(is_outside)[:1]:
        yield f"{name_of(call)} of rank {rank}{at(call)} has times that lie outside of the case"
    if not np.isin(seen.calls.column("phase"), (0, 1)).all():
        yield f"the calls of rank {rank} belong to phases that there are none of"


def _may_send(calls: Calls) -> Mask:
    """Return by which calls a message may have left, also by ones that failed later."""
    is_send = calls.flag("is_send") & (calls.column("peer") != PROC_NULL)
    may_send: Mask = is_send & ~only_prepare(calls)
    return may_send


def _lanes(calls: Calls, other: str, num_bytes: str) -> NDArray[np.int64]:
    """Return of each call the other rank, tag, communicator and size; torch says no size."""
    tag = "matched_tag" if other == "matched_source" else "tag"
    is_torch = calls.function_is(TORCH_POINT_TO_POINT.__contains__)
    sizes = np.where(is_torch, -1, calls.column(num_bytes))
    return np.stack([*(calls.column(name) for name in (other, tag, "communicator")), sizes], axis=1)


def _different(lanes: NDArray[np.int64]) -> Iterator[tuple[Lane, int]]:
    """Yield each row that there is, and how often."""
    ordered = lanes[np.lexsort(lanes.T)]
    is_another = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = np.flatnonzero(np.concatenate([[len(lanes) > 0], is_another]))
    numbers = np.diff(first, append=len(lanes))
    return zip(map(tuple, ordered[first].tolist()), numbers.tolist(), strict=True)


def _unsent(rank: int, call: Call) -> str:
    """Return that a message was received that nobody sent."""
    is_torch = call.function in TORCH_POINT_TO_POINT
    size_text = "" if is_torch else f" of {call.received_num_bytes} bytes"
    return (
        f"rank {rank} received a message{size_text} from rank {call.matched_source}"
        f"{at(call)}, and rank {call.matched_source} recorded no send of it"
    )


def _at(numbers: Sequence[int], index: int) -> int:
    return numbers[index] if index < len(numbers) else 0


def _messages(number: int) -> str:
    return "1 message" if number == 1 else f"{number} messages"
