"""Whether what the ranks recorded can be true: against itself, each other, and MPI's own count."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from grader.judge.functions import (
    PARTITIONED,
    TESTS_FOR_ALL,
    TESTS_FOR_ANY,
    TORCH_POINT_TO_POINT,
)
from grader.judge.pending_requests import has_got
from grader.judge.wording import at, name_of
from grader.trace.calls import PROC_NULL, Call, Counted, RankTrace, Trace

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
        for call in seen.calls:
            if _may_send(call):
                lane = rank, call.peer, call.tag, call.communicator
                sent.setdefault(lane, Counter())[call.num_bytes] += 1
    doubts: list[str] = []
    for rank, seen in enumerate(trace.ranks):
        for call in seen.calls:
            if not has_got(call):
                continue
            source = call.matched_source
            left = sent.get((source, rank, call.matched_tag, call.communicator), Counter())
            size = _received_num_bytes(call, left)
            if left[size] > 0:
                left[size] -= 1
            elif len(doubts) < len(trace.ranks):
                size_text = "" if call.function in TORCH_POINT_TO_POINT else f" of {size} bytes"
                doubts.append(
                    f"rank {rank} received a message{size_text} from rank {source}"
                    f"{at(call)}, and rank {source} recorded no send of it"
                )
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
        partitioned = next((call for call in seen.calls if call.function in PARTITIONED), None)
        if partitioned is not None:
            yield (
                f"rank {rank} calls {name_of(partitioned)}{at(partitioned)}, whose messages MPI "
                "does not count like others"
            )
            continue
        recorded = [_recorded(seen, peer) for peer in range(len(trace.ranks))]
        for peer, (num_messages, num_bytes) in enumerate(recorded):
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
    for before, after in pairwise(seen.calls):
        gap = after.sequence != before.sequence + 1 and not seen.truncated
        if gap or after.sequence <= before.sequence:
            yield f"the calls of rank {rank} are not numbered one after the other{at(after)}"
            break
    # A poll is recorded after it was made, by when another thread may have written.
    timed = [call for call in seen.calls if call.function not in _POLLS]
    if any(after.entered_ns < before.entered_ns for before, after in pairwise(timed)):
        yield f"the calls of rank {rank} are not in the order of their times"
    for call in timed:
        ends = [time_ns for time_ns in (call.left_ns, call.completed_ns) if time_ns]
        if not began_ns <= call.entered_ns <= min([*ends, read_ns]) or max([0, *ends]) > read_ns:
            yield (
                f"{name_of(call)} of rank {rank}{at(call)} has times that lie outside of the case"
            )
            break
    if any(call.phase not in (0, 1) for call in seen.calls):
        yield f"the calls of rank {rank} belong to phases that there are none of"


def _may_send(call: Call) -> bool:
    """Return whether a message may have left by this call, also by one that failed later."""
    prepares_only = call.function.endswith("_init") and not call.creates_request
    return call.is_send and not prepares_only and call.peer != PROC_NULL


def _received_num_bytes(call: Call, left: Counter[int]) -> int:
    """Return what a receive got; torch does not say, and may have got any that is left."""
    if call.function in TORCH_POINT_TO_POINT:
        return next(iter(+left), -1)
    return call.received_num_bytes


def _recorded(seen: RankTrace, peer: int) -> tuple[int, int]:
    sizes = [
        call.num_bytes
        for call in seen.calls
        if call.peer == peer
        and _may_send(call)
        and not call.error
        and call.function not in _NOT_COUNTED_BY_MPI
    ]
    return len(sizes), sum(sizes)


def _at(numbers: Sequence[int], index: int) -> int:
    return numbers[index] if index < len(numbers) else 0


def _messages(number: int) -> str:
    return "1 message" if number == 1 else f"{number} messages"
