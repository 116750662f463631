"""Counts what a trace holds: messages and bytes, by rank and by pair of ranks."""

from collections.abc import Collection, Iterator

from grader.judge.check_failures import NotProven
from grader.model.finding import found
from grader.trace.call_formatting import at, name_of, place_of
from grader.trace.calls import PROC_NULL, Call, Calls, Mask, Trace
from grader.trace.functions import ALL


def assert_no_doubts(trace: Trace) -> None:
    """Raise NotProven when the evidence contradicts itself: neither way can be told from it."""
    if trace.doubts:
        raise NotProven(
            found(
                "evidence.disagrees",
                f"our records of this run disagree: {trace.doubts[0]}; your instructor reviews "
                "this part",
                doubts=trace.doubts,
            )
        )


def assert_not_truncated(trace: Trace) -> None:
    """Assert that every call of every rank was recorded, and that the records are consistent.

    Raises NotProven: a rank was not observed, calls were lost, a record makes no sense, or the
    evidence contradicts itself.
    """
    assert_no_doubts(trace)
    for rank, seen in enumerate(trace.ranks):
        if not seen.attached:
            raise NotProven(
                found(
                    "evidence.not_recorded",
                    f"the calls of rank {rank} were not recorded, so nothing is proven",
                    rank=rank,
                )
            )
        if seen.truncated:
            raise NotProven(
                found(
                    "evidence.calls_not_kept",
                    f"rank {rank} made more calls than the grader keeps, so nothing is "
                    "proven; a solution needs far fewer",
                    rank=rank,
                )
            )
        is_known = seen.calls.function_is(ALL.__contains__)
        unreadable = ~is_known | (_are_messages(seen.calls) & ~_are_readable(seen.calls, trace))
        for call in seen.calls.where(unreadable)[:1]:
            raise NotProven(
                found(
                    "evidence.makes_no_sense",
                    f"the record of what rank {rank} called{at(call)} is inconsistent "
                    f"({name_of(call)}, peer {call.peer}, {call.num_bytes} bytes), so nothing "
                    "is proven",
                    rank=rank,
                    place=place_of(call),
                )
            )


def sends_of(trace: Trace, rank: int) -> list[Call]:
    """Return the messages that `rank` sent to other ranks, in order.

    A message to oneself or to PROC_NULL goes nowhere and is not among them; nor is a send that
    failed, or whose record makes no sense. Raises NotProven where the evidence contradicts itself.
    """
    return list(recorded_sends(trace, rank))


def recorded_sends(trace: Trace, rank: int) -> Calls:
    """Return what sends_of returns, as records; raises as it does."""
    return trace.ranks[rank].calls.where(are_sends(trace, rank))


def are_sends(trace: Trace, rank: int) -> Mask:
    """Return which calls of `rank` are those of sends_of; raises as it does."""
    assert_no_doubts(trace)
    calls = trace.ranks[rank].calls
    peers = calls.column("peer")
    is_to_others: Mask = (peers != rank) & (peers != PROC_NULL)
    sends = calls.flag("is_send") & is_to_others
    return sends & _are_messages(calls) & _are_readable(calls, trace)


def messages_sent(trace: Trace) -> list[int]:
    """Return for each rank how many messages it sent to other ranks."""
    return [len(recorded_sends(trace, rank)) for rank in range(len(trace.ranks))]


def bytes_sent(trace: Trace) -> list[int]:
    """Return for each rank how many bytes it sent to other ranks."""
    return [recorded_sends(trace, rank).total("num_bytes") for rank in range(len(trace.ranks))]


def messages(trace: Trace, source: int, destination: int) -> list[Call]:
    """Return the messages from rank `source` to rank `destination`, in the order they were sent."""
    sent = recorded_sends(trace, source)
    return list(sent.where(sent.column("peer") == destination))


def calls_by_rank(
    trace: Trace, *, functions: Collection[str] | None = None
) -> Iterator[tuple[int, Call]]:
    """Yield every call with its rank: rank 0's in order, then rank 1's, ...

    functions: only calls of these; a caller that needs few of them should say so, because a trace
    may
    hold a great many others.
    """
    for rank, seen in enumerate(trace.ranks):
        calls = seen.calls
        if functions is not None:
            calls = calls.where(calls.function_is(functions.__contains__))
        for call in calls:
            yield rank, call


def only_prepare(calls: Calls) -> Mask:
    """Return which calls make a persistent request and do not start it."""
    return calls.function_is(lambda name: name.endswith("_init")) & ~calls.flag("creates_request")


def _are_messages(calls: Calls) -> Mask:
    """Return which calls posted a message; making a persistent request does not yet."""
    posts = calls.flag("is_send") | calls.flag("is_receive")
    found: Mask = posts & ~only_prepare(calls) & (calls.column("error") == 0)
    return found


def _are_readable(calls: Calls, trace: Trace) -> Mask:
    peers = calls.column("peer")
    can_be_sent = ((peers >= 0) | (peers == PROC_NULL)) & (calls.column("num_bytes") >= 0)
    found: Mask = (peers < len(trace.ranks)) & (can_be_sent | ~calls.flag("is_send"))
    return found
