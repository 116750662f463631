"""Whether a rank may have used a message before it had arrived: words for a wrong result."""

from grader.judge.traffic.counting import sends_of
from grader.trace.call_formatting import at, name_of, place_of
from grader.trace.calls import Call, Trace


def arrival_text(trace: Trace, rank: int, *, uses_nothing: bool = False) -> str:
    """Return that a rank reads what it receives before the wait, where the trace suggests it.

    Of a rank that sends to one other only, as in a ring, it is known which message must come first:
    what is passed on in the next step. Of others only a receive that is never waited for.
    Nothing where there is no sign of it. The trace alone proves nothing: for a result that is
    wrong. uses_nothing: it is known that nothing the rank has received is in its result.
    """
    for each in (rank, *(other for other in range(len(trace.ranks)) if other != rank)):
        told = _never_waited_for(trace, each) or _passed_on_too_early(trace, each)
        if told:
            return told
    received = [c for c in _receives(trace, rank) if c.completed_ns and c.num_bytes > 0]
    if uses_nothing and received and received[0].creates_request:
        first = received[0]
        return (
            f"Likely: recv is read before the wait for its {name_of(first)}{at(first)}. The "
            "data is there only after that wait"
        )
    return ""


def _receives(trace: Trace, rank: int) -> list[Call]:
    calls = trace.ranks[rank].calls
    return [call for call in calls if call.is_receive and not call.cancelled and not call.error]


def _never_waited_for(trace: Trace, rank: int) -> str:
    for call in _receives(trace, rank):
        if call.creates_request and not call.completed_ns:
            return (
                f"Likely: rank {rank} reads what its {name_of(call)}{at(call)} receives "
                "without waiting for it. The data is there only after the wait"
            )
    return ""


def _passed_on_too_early(trace: Trace, rank: int) -> str:
    sends = sends_of(trace, rank)
    receives = _receives(trace, rank)
    peers = {call.peer for call in sends}
    if len(peers) != 1 or len(trace.ranks) < 3 or len(sends) != len(receives):
        return ""
    for send, before in zip(sends[1:], receives, strict=False):
        if before.creates_request and before.completed_ns > send.entered_ns:
            return (
                f"Likely: rank {rank} reads too early. It waits for its "
                f"{name_of(before)}{at(before)} only after the next "
                f"{name_of(send)}{_unless_same(send, before)}, which passes on what it receives"
            )
    return ""


def _unless_same(call: Call, other: Call) -> str:
    return at(call) if place_of(call) != place_of(other) else ""
