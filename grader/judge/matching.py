"""Which sends and receives of a run belong together by MPI's rules, and which found no partner."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.trace.calls import ANY_SOURCE, ANY_TAG, PROC_NULL, Call, Trace

Key = tuple[int, int]
"""Rank and sequence: names one call of a run."""

_Channel = tuple[int, int]
"""World rank of the receiver and communicator: where messages and receives meet."""


@dataclass(frozen=True)
class Posted:
    """A send or a receive that a rank has posted."""

    rank: int
    call: Call

    @property
    def key(self) -> Key:
        """Return what names this call in the run."""
        return self.rank, self.call.sequence


@dataclass
class Matches:
    """What can still come of the messages and receives of a run.

    In which order messages of different ranks arrive is not known; whatever one possible order
    brings together counts as possible.
    """

    delivered: set[Key] = field(default_factory=set)
    """Sends whose message a receive or matched probe has taken."""
    partners: dict[Key, list[Posted]] = field(default_factory=lambda: defaultdict(list))
    """For a send or pending receive, what it may be matched with; without an entry: nothing."""
    spare: dict[Key, Posted] = field(default_factory=dict)
    """Messages that may be left over, for a probe to find."""
    unreceived: list[Posted] = field(default_factory=list)
    """Messages left over if they arrive in the order they were sent in."""
    unserved: list[Posted] = field(default_factory=list)
    """Receives left over in the same order."""

    def finds(self, rank: int, probe: Call) -> bool:
        """Return whether a probe by `rank` may find a message."""
        return any(
            message.call.peer == rank
            and message.call.communicator == probe.communicator
            and accepts(probe, message)
            for message in self.spare.values()
        )


def accepts(receive: Call, message: Posted) -> bool:
    """Return whether a receive or probe takes this message by source and tag."""
    from_there = receive.peer in (ANY_SOURCE, message.rank)
    return from_there and receive.tag in (ANY_TAG, message.call.tag)


def match(trace: Trace) -> Matches:
    """Return what may come of all messages and receives of a run.

    Messages from one rank over one communicator are taken in the order they were sent, receives
    in the order they were posted (MPI 4.1, section 3.5).
    """
    matches = Matches()
    messages, receives = _outstanding(trace, matches.delivered)
    channels = sorted(set(messages) | set(receives))
    for order, arrival in enumerate(_arrival_orders(messages, receives)):
        for channel in channels:
            arriving = sorted(messages.get(channel, []), key=arrival)
            posted = receives.get(channel, [])
            pairs = _pairs(arriving, posted)
            for message, receive in pairs:
                matches.partners[message.key].append(receive)
                matches.partners[receive.key].append(message)
            taken = {message.key for message, _ in pairs}
            left = [message for message in arriving if message.key not in taken]
            matches.spare.update((message.key, message) for message in left)
            if order == 0:
                served = {receive.key for _, receive in pairs}
                matches.unreceived += left
                matches.unserved += [each for each in posted if each.key not in served]
    return matches


_ByChannel = Mapping[_Channel, Sequence[Posted]]


def _outstanding(trace: Trace, delivered: set[Key]) -> tuple[_ByChannel, _ByChannel]:
    """Return messages that nobody has taken yet, and receives that have got none, by channel.

    Fills in `delivered`.
    """
    lanes: dict[tuple[int, int, int, int], deque[Posted]] = defaultdict(deque)
    for rank, seen in enumerate(trace.ranks):
        for call in seen.calls:
            if call.is_send and _is_posted(call):
                lanes[call.peer, call.communicator, rank, call.tag].append(Posted(rank, call))
    receives: dict[_Channel, list[Posted]] = defaultdict(list)
    for rank, seen in enumerate(trace.ranks):
        for call in seen.calls:
            if _took_a_message(call):
                lane = lanes[rank, call.communicator, call.matched_source, call.matched_tag]
                if lane:
                    delivered.add(lane.popleft().key)
            elif call.is_receive and _is_pending(call):
                receives[rank, call.communicator].append(Posted(rank, call))
    messages: dict[_Channel, list[Posted]] = defaultdict(list)
    for (receiver, communicator, _, _), lane in lanes.items():
        messages[receiver, communicator] += lane
    return messages, receives


def _is_posted(call: Call) -> bool:
    """Return whether the call has put a message or a receive on its way."""
    prepares_only = call.function.endswith("_init") and not call.creates_request
    return call.peer != PROC_NULL and not (prepares_only or call.cancelled or call.error)


def _is_pending(call: Call) -> bool:
    """Return whether a receive still waits for its message."""
    return _is_posted(call) and not call.completed_ns and not _has_its_message(call)


def _took_a_message(call: Call) -> bool:
    """Return whether the call removed a message from those that others may receive."""
    if call.matched_source < 0:
        return False
    if call.function in ("Mprobe", "Improbe"):
        return True
    return call.is_receive and not _has_its_message(call) and call.completed_ns > 0


def _has_its_message(call: Call) -> bool:
    """Return whether the message was chosen before by a matched probe."""
    return call.function in ("Mrecv", "Imrecv")


_Order = Callable[[Posted], tuple[int, ...]]


def _arrival_orders(messages: _ByChannel, receives: _ByChannel) -> Iterator[_Order]:
    """Yield sort keys of messages: as they were sent; then, if it matters, each rank first, last.

    Each leaves the messages of one rank in their order.
    """
    yield _as_sent
    contested: set[int] = set()
    for channel, posted in receives.items():
        sources = {message.rank for message in messages.get(channel, [])}
        if len(sources) > 1 and any(each.call.peer == ANY_SOURCE for each in posted):
            contested |= sources
    for rank in sorted(contested):
        yield _with(rank, 0)
        yield _with(rank, 2)


def _as_sent(message: Posted) -> tuple[int, ...]:
    return message.call.entered_ns, message.rank, message.call.sequence


def _with(rank: int, place: int) -> _Order:
    """Return the order in which the messages of one rank arrive at this place, all others at 1."""
    return lambda message: (place if message.rank == rank else 1, *_as_sent(message))


def _pairs(arriving: Iterable[Posted], posted: Iterable[Posted]) -> list[tuple[Posted, Posted]]:
    """Return (message, receive) pairs: each receive takes the first message that it accepts."""
    waiting: dict[tuple[int, int], deque[Posted]] = defaultdict(deque)
    for message in arriving:
        for source in (message.rank, ANY_SOURCE):
            for tag in (message.call.tag, ANY_TAG):
                waiting[source, tag].append(message)
    taken: set[Key] = set()
    pairs = []
    for receive in posted:
        queue = waiting[receive.call.peer, receive.call.tag]
        while queue and queue[0].key in taken:
            queue.popleft()
        if queue:
            message = queue.popleft()
            taken.add(message.key)
            pairs.append((message, receive))
    return pairs
