"""Which sends and receives of a run belong together by MPI's rules, and which found no partner."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from grader.trace.calls import ANY_SOURCE, ANY_TAG, Call, Trace
from grader.trace.pending_requests import (
    Channel,
    Key,
    Posted,
    has_got,
    messages_of,
    receives_of,
)


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

    def found_by(self, rank: int, probe: Call) -> Sequence[Posted]:
        """Return the messages that a probe by `rank` may find."""
        form = rank, probe.communicator, probe.peer, probe.tag
        return self._spare_by_form.get(form, ())

    @cached_property
    def _spare_by_form(self) -> Mapping[tuple[int, ...], Sequence[Posted]]:
        """Messages by what a probe has to say to find them: a rank may repeat a great many."""
        found: dict[tuple[int, ...], list[Posted]] = defaultdict(list)
        for message in self.spare.values():
            call = message.call
            for source in (message.rank, ANY_SOURCE):
                for tag in (call.tag, ANY_TAG):
                    found[call.peer, call.communicator, source, tag].append(message)
        return found


def match(trace: Trace) -> Matches:
    """Return what may come of all messages and receives of a run.

    Messages from one rank over one communicator are taken in the order they were sent, receives
    in the order they were posted (MPI 4.1, section 3.5).
    """
    matches = Matches()
    messages = messages_of(trace)
    receives = receives_of(trace, messages, matches.delivered)
    for channel in sorted(set(messages) | set(receives)):
        _match_channel(matches, channel, messages[channel].left(), receives.get(channel, []))
    return matches


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
            if has_got(receive.call):
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
    pending = [receive for receive in receives if not has_got(receive.call)]
    if len(sources) > 1 and any(receive.call.peer == ANY_SOURCE for receive in pending):
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
        call, is_served = receive.call, has_got(receive.call)
        wanted = (call.matched_source, call.matched_tag) if is_served else (call.peer, call.tag)
        queue = waiting[wanted]
        while queue and queue[0].key in taken:
            queue.popleft()
        if queue:
            message = queue.popleft()
            taken.add(message.key)
            pairs.append((message, receive))
        elif is_served:
            return None
    return pairs
