"""Which sends and receives of a run belong together by MPI's rules, and which found no partner."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from grader.trace.calls import ANY_SOURCE, ANY_TAG, PROC_NULL, Call, Trace

Key = tuple[int, int]
"""Rank and sequence: names one call of a run."""

Channel = tuple[int, int]
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
    unclear: set[Channel] = field(default_factory=set)
    """Where the records contradict each other in every order."""

    def finds(self, rank: int, probe: Call) -> bool:
        """Return whether a probe by `rank` may find a message."""
        return any(
            message.call.peer == rank
            and message.call.communicator == probe.communicator
            and probe.peer in (ANY_SOURCE, message.rank)
            and probe.tag in (ANY_TAG, message.call.tag)
            for message in self.spare.values()
        )


def match(trace: Trace) -> Matches:
    """Return what may come of all messages and receives of a run.

    Messages from one rank over one communicator are taken in the order they were sent, receives
    in the order they were posted (MPI 4.1, section 3.5).
    """
    matches = Matches()
    messages = _messages(trace)
    receives = _receives(trace, messages, matches.delivered)
    for channel in sorted(set(messages) | set(receives)):
        _match_channel(matches, channel, messages[channel].left(), receives.get(channel, []))
    return matches


class _Lanes:
    """The messages of one channel, each in the queue of its sender and tag."""

    def __init__(self) -> None:
        self._lanes: dict[tuple[int, int], deque[Posted]] = defaultdict(deque)

    def add(self, message: Posted) -> None:
        """Append a message that was sent after all others of its sender."""
        self._lanes[message.rank, message.call.tag].append(message)

    def take(self, source: int, tag: int) -> Posted | None:
        """Remove and return the oldest message of a sender with this tag."""
        lane = self._lanes[source, tag]
        return lane.popleft() if lane else None

    def left(self) -> list[Posted]:
        """Return all messages that were not taken."""
        return [message for lane in self._lanes.values() for message in lane]


def _messages(trace: Trace) -> dict[Channel, _Lanes]:
    messages: dict[Channel, _Lanes] = defaultdict(_Lanes)
    for rank, seen in enumerate(trace.ranks):
        for call in seen.calls:
            if call.is_send and _is_posted(call):
                messages[call.peer, call.communicator].add(Posted(rank, call))
    return messages


def _receives(
    trace: Trace, messages: dict[Channel, _Lanes], delivered: set[Key]
) -> dict[Channel, list[Posted]]:
    """Return by channel the receives from the first pending one on.

    What those before it got is certain: it is taken from `messages` and added to `delivered`.
    """
    receives: dict[Channel, list[Posted]] = defaultdict(list)
    for rank, seen in enumerate(trace.ranks):
        for call in seen.calls:
            channel = rank, call.communicator
            if _has_got(call) and not receives[channel]:
                message = messages[channel].take(call.matched_source, call.matched_tag)
                if message is not None:
                    delivered.add(message.key)
            elif _has_got(call) or _is_pending(call):
                receives[channel].append(Posted(rank, call))
    return receives


def _is_posted(call: Call) -> bool:
    """Return whether the call has put a message or a receive on its way."""
    prepares_only = call.function.endswith("_init") and not call.creates_request
    return call.peer != PROC_NULL and not (prepares_only or call.cancelled or call.error)


def _is_pending(call: Call) -> bool:
    """Return whether the call is a receive that still waits for its message."""
    waits = call.is_receive and not call.completed_ns and not _has_its_message(call)
    return waits and _is_posted(call)


def _has_got(call: Call) -> bool:
    """Return whether the call removed a message from those that others may receive."""
    if call.matched_source < 0:
        return False
    if call.function in ("Mprobe", "Improbe"):
        return True
    return call.is_receive and call.completed_ns > 0 and not _has_its_message(call)


def _has_its_message(call: Call) -> bool:
    """Return whether the message was chosen before, by a matched probe."""
    return call.function in ("Mrecv", "Imrecv")


def _match_channel(
    matches: Matches, channel: Channel, messages: Sequence[Posted], receives: Sequence[Posted]
) -> None:
    """Add to `matches` what may come of the messages and receives of one channel."""
    is_first = True
    for order in _arrival_orders(messages, receives):
        arriving = sorted(messages, key=order)
        pairs = _pairs(arriving, receives)
        if pairs is None:
            continue
        for message, receive in pairs:
            if _has_got(receive.call):
                matches.delivered.add(message.key)
            else:
                matches.partners[message.key].append(receive)
                matches.partners[receive.key].append(message)
        taken = {message.key for message, _ in pairs}
        left = [message for message in arriving if message.key not in taken]
        matches.spare.update((message.key, message) for message in left)
        if is_first:
            served = {receive.key for _, receive in pairs}
            matches.unreceived += left
            matches.unserved += [receive for receive in receives if receive.key not in served]
        is_first = False
    if is_first:
        matches.unclear.add(channel)


_Order = Callable[[Posted], tuple[int, ...]]


def _arrival_orders(messages: Iterable[Posted], receives: Iterable[Posted]) -> Iterator[_Order]:
    """Yield sort keys of messages: as they were sent; then, if it matters, each rank first, last.

    Each leaves the messages of one rank in their order.
    """
    yield _as_sent
    sources = {message.rank for message in messages}
    if len(sources) > 1 and any(each.call.peer == ANY_SOURCE for each in receives):
        for rank in sorted(sources):
            yield _with(rank, 0)
            yield _with(rank, 2)


def _as_sent(message: Posted) -> tuple[int, ...]:
    return message.call.entered_ns, message.rank, message.call.sequence


def _with(rank: int, place: int) -> _Order:
    """Return the order in which the messages of one rank arrive at this place, all others at 1."""
    return lambda message: (place if message.rank == rank else 1, *_as_sent(message))


def _pairs(
    arriving: Iterable[Posted], receives: Iterable[Posted]
) -> list[tuple[Posted, Posted]] | None:
    """Return (message, receive) pairs: each receive takes the first message that it accepts.

    None when a receive that has got its message finds none: so they did not arrive.
    """
    waiting: dict[tuple[int, int], deque[Posted]] = defaultdict(deque)
    for message in arriving:
        for source in (message.rank, ANY_SOURCE):
            for tag in (message.call.tag, ANY_TAG):
                waiting[source, tag].append(message)
    taken: set[Key] = set()
    pairs = []
    for receive in receives:
        call, has_got = receive.call, _has_got(receive.call)
        wanted = (call.matched_source, call.matched_tag) if has_got else (call.peer, call.tag)
        queue = waiting[wanted]
        while queue and queue[0].key in taken:
            queue.popleft()
        if queue:
            message = queue.popleft()
            taken.add(message.key)
            pairs.append((message, receive))
        elif has_got:
            return None
    return pairs
