"""Which calls of torch.distributed gloo has sent anything for: those that the others made as well.

Gloo sends no payload before the other side has asked for it. A message that nobody receives, and a
collective that one rank calls alone, are recorded like any other, and move nothing.
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass

from grader.trace.calls import Calls, Mask, Trace

SEND = "send"
_COLLECTIVES = (
    *("all_reduce", "reduce_scatter", "reduce", "all_gather", "all_to_all"),
    *("broadcast", "gather", "scatter", "barrier", "monitored_barrier"),
)
"""The beginning of an operation's name says which it is, the first that fits."""
_MAY_DIFFER = {"scatter", "all_to_all"}
"""In all others each rank gives as much: gloo moves no more than fits the smallest."""

Lane = tuple[int, int, int, int]
"""World ranks of sender and receiver, tag, communicator: messages here cannot overtake."""

Room = tuple[int, bool]
"""How long a message a receive can take, and whether it has got one."""


@dataclass(frozen=True, slots=True)
class Given:
    """What one rank gives to one operation, as far as there is somebody to take it."""

    rank: int
    operation: str
    """SEND, or which collective it is."""
    num_processes: int
    num_bytes: int
    num_elements: int
    has_arrived: bool = False
    """A message of which the receiver says that it has got it."""


def exchanged(trace: Trace) -> Iterator[Given]:
    """Yield what each rank gave to what was exchanged; calls that failed exchange nothing."""
    made = [seen.calls.where(seen.calls.column("error") == 0) for seen in trace.ranks]
    yield from _messages(made)
    yield from _collectives(made)


def _messages(made: list[Calls]) -> Iterator[Given]:
    """Yield each message that was received, or may have been: no longer than the room for it."""
    sent: dict[Lane, list[int]] = defaultdict(list)
    room: dict[Lane, deque[Room]] = defaultdict(deque)
    room_for_anybody: dict[tuple[int, int, int], deque[Room]] = defaultdict(deque)
    for rank, calls in enumerate(made):
        sends = calls.where(calls.flag("is_send"))
        for peer, tag, communicator, num_bytes in sends.keys(
            "peer", "tag", "communicator", "num_bytes"
        ):
            sent[rank, peer, tag, communicator].append(max(num_bytes, 0))
        receives = calls.where(calls.flag("is_receive"))
        for peer, source, tag, communicator, num_bytes, completed_ns in receives.keys(
            "peer", "matched_source", "tag", "communicator", "num_bytes", "completed_ns"
        ):
            known = peer if peer >= 0 else source
            into = (
                room[known, rank, tag, communicator]
                if known >= 0
                else room_for_anybody[rank, tag, communicator]
            )
            into.append((max(num_bytes, 0), completed_ns > 0))
    for (sender, receiver, tag, communicator), nums_bytes in sent.items():
        own = room[sender, receiver, tag, communicator]
        others = room_for_anybody[receiver, tag, communicator]
        for num_bytes in nums_bytes:
            if not own and not others:
                break
            most_num_bytes, has_arrived = (own or others).popleft()
            yield Given(sender, SEND, 2, min(num_bytes, most_num_bytes), 0, has_arrived)


def _collectives(made: list[Calls]) -> Iterator[Given]:
    """Yield each collective that all processes of its group have called, once for each of them.

    In one that some leave out the others may still exchange something: how much, nobody has
    measured, so that it is a doubt where it matters.
    """
    given: dict[tuple[int, str], dict[int, list[tuple[int, int, int]]]] = {}
    for rank, calls in enumerate(made):
        is_message = calls.flag("is_send") | calls.flag("is_receive")
        for operation in _COLLECTIVES:
            for communicator, *fields in calls.where(_are(operation, calls) & ~is_message).keys(
                "communicator", "communicator_size", "num_bytes", "num_elements"
            ):
                num_processes, num_bytes, num_elements = fields
                by_rank = given.setdefault((communicator, operation), {})
                by_rank.setdefault(rank, []).append(
                    (num_processes, max(num_bytes, 0), max(num_elements, 0))
                )
    for (_, operation), by_rank in given.items():
        for together in zip(*by_rank.values(), strict=False):
            sizes, nums_bytes, nums_elements = zip(*together, strict=True)
            if len(together) < max(sizes):
                continue
            if operation not in _MAY_DIFFER:
                nums_bytes = (min(nums_bytes),) * len(together)
                nums_elements = (min(nums_elements),) * len(together)
            for rank, num_processes, num_bytes, num_elements in zip(
                by_rank, sizes, nums_bytes, nums_elements, strict=True
            ):
                yield Given(rank, operation, max(num_processes, 1), num_bytes, num_elements)


def _are(operation: str, calls: Calls) -> Mask:
    return calls.function_is(lambda name: _operation(name) == operation)


def _operation(function: str) -> str:
    return next((each for each in _COLLECTIVES if function.startswith(each)), "")
