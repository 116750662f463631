"""Whether the payloads that gloo has written, and what the kernel saw, can be the calls recorded.

The interposer counts payloads below torch, and what it counts is no object of Python. Unlike the
kernel it tells messages from collectives, and one rank's from another's. The kernel counts headers
and acknowledgements as well. How much gloo sends for an operation was measured on 2 to 8 ranks
(`benchmarks/README.md`); what is allowed is slightly more. Gloo sends no payload before the other
side has asked for it. A message that nobody receives, and a collective that one rank calls alone,
are recorded like any other, and move nothing.
"""

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.trace.calls import Calls, Mask, Trace
from grader.trace.sent_by_gloo import SentByGloo

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


@dataclass(frozen=True)
class Doubt:
    """Why a trace proves nothing: a contradiction in it, or with what others have counted."""

    text: str
    ranks: tuple[int, ...]
    """Whose records it is about."""


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
            key = rank, tag, communicator
            into = room[(known, *key)] if known >= 0 else room_for_anybody[key]
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


_BY_HEADERS = 1.1
"""Long messages go in segments of up to 64 KiB, and not all of them are full."""
_TWICE_NUM_BYTES = 4 << 16
"""On a busy machine TCP sends a segment again now and then, for the lack of an answer."""
_MESSAGE_NUM_BYTES = 480
"""What gloo's three small messages around one of data add to it, each acknowledged by itself."""
_MEETING_NUM_BYTES = 1200
"""What it adds for each two ranks, itself included, that a process group is made."""
_NUM_GROUPS = 2
"""Which a case may make without a call that names them."""
_MPI_NUM_BYTES = 4 << 10
"""Of each rank: MPI's messages go through shared memory, and over TCP goes next to nothing."""
_MPI_START_NUM_BYTES = 256 << 10
_MPI_START_NUM_BYTES_PER_RANK = 16 << 10
"""What MPI asks mpirun when it starts, and about each of the others."""


def unexplained(trace: Trace, num_bytes: int | None, most_num_bytes: int) -> Iterator[Doubt]:
    """Yield that more went between the ranks than their calls account for.

    num_bytes: what the kernel counted during a case; None where it cannot be told from what others
    send. most_num_bytes: what its calls can need.
    """
    if num_bytes is None or any(seen.truncated or not seen.attached for seen in trace.ranks):
        return
    if num_bytes > most_num_bytes:
        yield Doubt(
            f"the kernel counted {num_bytes} bytes between the ranks, but their recorded calls "
            f"account for at most {most_num_bytes}",
            tuple(range(len(trace.ranks))),
        )


def most_by_mpi(trace: Trace, *, starts: bool) -> int:
    """Return the most that MPI sends over the loopback; starts: within the case."""
    n = len(trace.ranks)
    start = _MPI_START_NUM_BYTES + _MPI_START_NUM_BYTES_PER_RANK * n if starts else 0
    return n * (_MPI_NUM_BYTES + start)


def most_by_gloo(trace: Trace) -> int:
    """Return the most that gloo and the kernel need for the calls of all ranks."""
    groups = {
        communicator
        for seen in trace.ranks
        for communicator, error in seen.calls.keys("communicator", "error")
        if communicator > 0 and not error
    }
    meetings = (_NUM_GROUPS + len(groups)) * len(trace.ranks) ** 2
    needed = needed_by_gloo(exchanged(trace))
    return math.ceil(_TWICE_NUM_BYTES + _MEETING_NUM_BYTES * meetings + needed)


def needed_by_gloo(exchanged: Iterable[Given]) -> float:
    """Return the most that goes out for what ranks gave to operations."""
    needs = [_need(given) for given in exchanged]
    return _BY_HEADERS * sum(num_bytes for num_bytes, _ in needs) + _MESSAGE_NUM_BYTES * sum(
        num_messages for _, num_messages in needs
    )


def _need(of: Given) -> tuple[float, float]:
    """Return how many bytes go out on behalf of one rank's call, and in how many messages."""
    n, given, num_elements = of.num_processes, of.num_bytes, of.num_elements
    others = (n - 1) / n
    match of.operation:
        case "send":
            return given, 1
        case "all_reduce":
            return 2 * others * given, 2 * others * min(num_elements, 2 * n)
        case "reduce_scatter":
            # An all-reduce of all that is given, or of each piece.
            return 2 * others * given, 2 * others * min(num_elements, 2 * n * n)
        case "reduce":
            return others * (n + 1) / n * given, min(num_elements, 2 * n) + 1
        case "all_gather":
            return (n - 1) * given, 2 * (n - 1)
        case "all_to_all":
            return others * given, n
        case "broadcast" | "gather":
            return others * given, 1
        case "scatter":
            return others * given, n if given else 0
        case "barrier" | "monitored_barrier":
            return 0, 2 + math.log2(n)
    return 0, 0


_SMALL_NUM_BYTES = 4 << 10
"""Of each rank: short messages that are no calls of their own."""
_WATCHED_NUM_BYTES = 4
"""What a rank sends to another one in a barrier that is watched, by a message."""
_COLLECTIVES_NUM_BYTES = 64 << 10
"""Of all ranks: DistributedDataParallel compares what it has, as do operations on objects."""


def unrecorded_payloads(trace: Trace, sent: Sequence[SentByGloo]) -> Iterator[Doubt]:
    """Yield where gloo sent what no call accounts for, or not what a call says to have sent.

    trace: the calls of one case, of every phase. sent: by each rank, during the case; empty where
    ranks have no gloo: of MPI there may be a million calls, which nobody looks at here.
    """
    if not sent or any(seen.truncated or not seen.attached for seen in trace.ranks):
        return
    given = list(exchanged(trace))
    messages = [each for each in given if each.operation == SEND]
    for rank, counted in enumerate(sent):
        own = [each for each in messages if each.rank == rank]
        least = sum(each.num_bytes for each in own if each.has_arrived)
        most = sum(each.num_bytes for each in own)
        small = _SMALL_NUM_BYTES + _by_watched_barriers(given, rank)
        if not least <= counted.of_messages <= most + small:
            yield Doubt(
                f"gloo sent {counted.of_messages} bytes in rank {rank}'s messages, but rank "
                f"{rank} recorded {most if counted.of_messages > most else least}",
                (rank,),
            )
    # Payload alone: without headers, and without messages of gloo's own.
    needed = int(sum(_need(each)[0] for each in given if each.operation != SEND))
    found = sum(counted.of_collectives for counted in sent)
    if found > needed + _COLLECTIVES_NUM_BYTES:
        yield Doubt(
            f"gloo sent {found} bytes for collectives, but the recorded collectives "
            f"account for at most {needed + _COLLECTIVES_NUM_BYTES}",
            tuple(range(len(sent))),
        )


def _by_watched_barriers(given: Sequence[Given], rank: int) -> int:
    """Return what they send by messages: a program may call one in each of a thousand steps."""
    return sum(
        _WATCHED_NUM_BYTES * each.num_processes
        for each in given
        if each.rank == rank and each.operation == "monitored_barrier"
    )
