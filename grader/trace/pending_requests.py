"""Messages that nobody has taken yet, and receives that still wait for one."""

from collections import defaultdict, deque
from dataclasses import dataclass

from grader.trace.calls import PROC_NULL, Call, Calls, Mask, Trace

_WITH_A_MESSAGE = ("Mrecv", "Imrecv")

Key = tuple[int, int]
"""Rank and sequence: names one call of a run."""

Channel = tuple[int, int]
"""World rank of the receiver and communicator: where messages and receives meet."""


@dataclass(frozen=True, slots=True)
class Posted:
    """A send or a receive that a rank has posted."""

    rank: int
    call: Call

    @property
    def key(self) -> Key:
        """Return what names this call in the run."""
        return self.rank, self.call.sequence


class Channels:
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


def messages_of(trace: Trace) -> dict[Channel, Channels]:
    """Return all messages by channel."""
    messages: dict[Channel, Channels] = defaultdict(Channels)
    for rank, seen in enumerate(trace.ranks):
        for call in seen.calls.where(seen.calls.flag("is_send")):
            if _is_posted(call):
                messages[call.peer, call.communicator].add(Posted(rank, call))
    return messages


def receives_of(
    trace: Trace, messages: dict[Channel, Channels], delivered: set[Key]
) -> dict[Channel, list[Posted]]:
    """Return by channel the receives from the first pending one on.

    What those before it got is certain: it is taken from `messages` and added to `delivered`.
    """
    receives: dict[Channel, list[Posted]] = defaultdict(list)
    for rank, seen in enumerate(trace.ranks):
        may_take = seen.calls.flag("is_receive") | have_got(seen.calls)
        for call in seen.calls.where(may_take):
            channel = rank, call.communicator
            if has_got(call) and not receives[channel]:
                message = messages[channel].take(call.matched_source, call.matched_tag)
                if message is not None:
                    delivered.add(message.key)
            elif has_got(call) or _is_pending(call):
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


def has_got(call: Call) -> bool:
    """Return whether the call removed a message from those that others may receive."""
    if call.matched_source < 0:
        return False
    if call.function in ("Mprobe", "Improbe"):
        return True
    return call.is_receive and call.completed_ns > 0 and not _has_its_message(call)


def have_got(calls: Calls) -> Mask:
    """Return the same of each of these calls."""
    has_taken = calls.function_is(("Mprobe", "Improbe").__contains__)
    is_complete = calls.flag("is_receive") & (calls.column("completed_ns") > 0)
    has_taken |= is_complete & ~calls.function_is(_WITH_A_MESSAGE.__contains__)
    return has_taken & (calls.column("matched_source") >= 0)


def _has_its_message(call: Call) -> bool:
    """Return whether the message was chosen before, by a matched probe."""
    return call.function in _WITH_A_MESSAGE
