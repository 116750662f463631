"""Counts what a trace holds: messages and bytes, by rank and by pair of ranks."""

from collections.abc import Iterator

from grader.judge.check_failures import NotProven
from grader.judge.functions import ALL
from grader.judge.wording import at, name_of
from grader.trace.calls import PROC_NULL, Call, Trace


def assert_no_doubts(trace: Trace) -> None:
    """Raise NotProven when the evidence contradicts itself: neither way can be told from it."""
    if trace.doubts:
        raise NotProven(
            f"the evidence does not agree: {trace.doubts[0]}; a person should look at it"
        )


def assert_not_truncated(trace: Trace) -> None:
    """Assert that every call of every rank is there to be looked at, and can be believed.

    Raises NotProven: a rank was not observed, calls were lost, a record makes no sense, or the
    evidence contradicts itself.
    """
    assert_no_doubts(trace)
    for rank, seen in enumerate(trace.ranks):
        if not seen.attached:
            raise NotProven(f"the calls of rank {rank} were not recorded: nothing is proven")
        if seen.truncated:
            raise NotProven(
                f"rank {rank} made more calls than were kept ({len(seen.calls)} were): what it "
                "did after them is not proven"
            )
        for call in seen.calls:
            if call.function not in ALL or (_is_message(call) and not _is_readable(call, trace)):
                raise NotProven(
                    f"the record of what rank {rank} called{at(call)} makes no sense "
                    f"({name_of(call)}, peer {call.peer}, {call.num_bytes} bytes): nothing is "
                    "proven"
                )


def sends_of(trace: Trace, rank: int) -> list[Call]:
    """Return the messages that `rank` sent to other ranks, in order.

    A message to oneself or to PROC_NULL goes nowhere and is not among them; nor is a send that
    failed, or whose record makes no sense. Raises NotProven where the evidence contradicts itself.
    """
    assert_no_doubts(trace)
    return [
        call
        for call in trace.ranks[rank].calls
        if call.is_send
        and _is_message(call)
        and _is_readable(call, trace)
        and call.peer not in (rank, PROC_NULL)
    ]


def messages_sent(trace: Trace) -> list[int]:
    """Return for each rank how many messages it sent to other ranks."""
    return [len(sends_of(trace, rank)) for rank in range(len(trace.ranks))]


def bytes_sent(trace: Trace) -> list[int]:
    """Return for each rank how many bytes it sent to other ranks."""
    return [
        sum(call.num_bytes for call in sends_of(trace, rank)) for rank in range(len(trace.ranks))
    ]


def messages(trace: Trace, source: int, destination: int) -> list[Call]:
    """Return the messages from rank `source` to rank `destination`, in the order they were sent."""
    return [call for call in sends_of(trace, source) if call.peer == destination]


def calls_by_rank(trace: Trace) -> Iterator[tuple[int, Call]]:
    """Yield every call with its rank: rank 0's in order, then rank 1's, ..."""
    for rank, seen in enumerate(trace.ranks):
        for call in seen.calls:
            yield rank, call


def _is_message(call: Call) -> bool:
    """Return whether the call posted a message; making a persistent request does not yet."""
    posts = call.is_send or call.is_receive
    prepares_only = call.function.endswith("_init") and not call.creates_request
    return posts and not prepares_only and call.error == 0


def _is_readable(call: Call, trace: Trace) -> bool:
    known_peer = call.peer < 0 or call.peer < len(trace.ranks)
    if call.is_send:
        return known_peer and (call.peer >= 0 or call.peer == PROC_NULL) and call.num_bytes >= 0
    return known_peer
