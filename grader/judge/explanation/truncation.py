"""A message and the buffer it is too long for: which call it was, and how long both are."""

from collections import defaultdict, deque

from grader.trace.call_formatting import at, signature_of, size_text
from grader.trace.calls import ANY_SOURCE, ANY_TAG, Call, Trace
from grader.trace.functions import COLLECTIVES
from grader.trace.pending_requests import has_got

_TRUNCATE = 15
"""MPI_ERR_TRUNCATE of Open MPI."""
_IRECV_NUM_BYTES = 32768
"""What mpi4py's irecv has room for, unless it is given a buffer."""


def size_mismatch(trace: Trace, rank: int) -> str:
    """Return the sentence about the receive of a rank whose message was too long for its buffer.

    Of a receive that several messages fit, as little as is certain; nothing without a record.
    """
    if rank >= len(trace.ranks):
        return ""
    calls = trace.ranks[rank].calls
    failed = next((call for call in calls if call.error == _TRUNCATE and _takes(call)), None)
    if failed is not None:
        return _of_call(trace, rank, failed) or _without_the_other(rank, failed)
    # Of torch.distributed no error is recorded: its process ends inside of the call.
    pending = [call for call in calls if call.function.islower() and not call.completed_ns]
    return next(filter(None, (_of_call(trace, rank, call) for call in pending)), "")


def _takes(call: Call) -> bool:
    """Return whether a call has a buffer for what others send."""
    return call.is_receive or call.function in COLLECTIVES


def _of_call(trace: Trace, rank: int, failed: Call) -> str:
    """Return the sentence about both sizes; empty when the other one is not known for certain."""
    message = _message_for(trace, rank, failed) if failed.is_receive else None
    if message is None or message[1].num_bytes <= failed.num_bytes:
        return ""
    sender, sent = message
    return (
        f"{_told(rank, failed)} has a buffer of {size_text(failed)}, and rank {sender} sends it "
        f"{size_text(sent)}{at(sent)}: {_advice(failed, sent)}"
    )


def _without_the_other(rank: int, failed: Call) -> str:
    if failed.function in COLLECTIVES:
        return f"in {_told(rank, failed)} the arrays of the ranks differ in size"
    return f"{_told(rank, failed)} has a buffer of {size_text(failed)}: its message is longer"


def _advice(receive: Call, sent: Call) -> str:
    if sent.pickled and receive.num_bytes == _IRECV_NUM_BYTES:
        return "without its own buffer, irecv accepts no more; use Irecv into an array"
    if sent.num_elements == receive.num_elements:
        return "give both arrays the same dtype"
    return "make the buffer as long as the message"


def _message_for(trace: Trace, rank: int, failed: Call) -> tuple[int, Call] | None:
    """Return sender and send of the message that a failed receive got; None if it is not certain.

    Receives take messages of one sender in the order both were posted in (MPI 4.1, section 3.5).
    """
    messages = _Messages()
    for sender, seen in enumerate(trace.ranks):
        calls = seen.calls
        for call in calls.where(calls.flag("is_send") & (calls.column("peer") == rank)):
            if _is_of(failed, call):
                messages.add(sender, call)
    calls = trace.ranks[rank].calls
    for call in calls.where(calls.flag("is_receive")):
        if not _is_of(failed, call):
            continue
        source, tag = (
            (call.matched_source, call.matched_tag) if has_got(call) else (call.peer, call.tag)
        )
        if call.sequence == failed.sequence:
            fitting = messages.left(source, tag)
            is_certain = source != ANY_SOURCE or len({sent.num_bytes for _, sent in fitting}) == 1
            return fitting[0] if fitting and is_certain else None
        if source == ANY_SOURCE:
            return None
        messages.take(source, tag)
    return None


class _Messages:
    """Messages to one rank, in the order that their senders have sent them in."""

    def __init__(self) -> None:
        self._lanes: dict[tuple[int, int], deque[tuple[int, Call]]] = defaultdict(deque)
        """By source and tag, also by any of them: each message is in four, until it is taken."""
        self._taken: set[tuple[int, int]] = set()

    def add(self, sender: int, call: Call) -> None:
        """Append a message."""
        for source in (sender, ANY_SOURCE):
            for tag in (call.tag, ANY_TAG):
                self._lanes[source, tag].append((sender, call))

    def take(self, source: int, tag: int) -> None:
        """Remove the oldest message that fits, if there is any."""
        lane = self._lanes[source, tag]
        while lane:
            sender, call = lane.popleft()
            if (sender, call.sequence) not in self._taken:
                self._taken.add((sender, call.sequence))
                return

    def left(self, source: int, tag: int) -> list[tuple[int, Call]]:
        """Return all that fit and were not taken, with their senders."""
        lane = self._lanes[source, tag]
        return [each for each in lane if (each[0], each[1].sequence) not in self._taken]


def _is_of(failed: Call, call: Call) -> bool:
    """Return whether a call has posted something on the communicator of the failed one."""
    prepares_only = call.function.endswith("_init") and not call.creates_request
    return call.communicator == failed.communicator and not call.cancelled and not prepares_only


def _told(rank: int, call: Call) -> str:
    return f"{signature_of(call)} of rank {rank}{at(call)}"
