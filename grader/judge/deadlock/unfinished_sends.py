"""Messages that a rank started to send and then left: MPI may never finish them."""

from collections.abc import Iterable

from grader.trace.call_formatting import at, signature_of
from grader.trace.calls import Call, Trace
from grader.trace.matching import Matches, match
from grader.trace.pending_requests import Posted
from grader.trace.wait_conditions import needs_of
from grader.trace.wait_for_graph import PROBES


def left_behind(trace: Trace, returned: frozenset[int]) -> str:
    """Return a clause on a send that a rank waits for and a returned one has not; or nothing.

    A long message is handed over piece by piece, and only while its sender is inside of MPI.
    """
    matches = match(trace)
    for rank in sorted(set(range(len(trace.ranks))) - returned):
        for need in needs_of(rank, trace.ranks[rank]) or ():
            for call in need.calls:
                for message in _coming(matches, rank, call):
                    if message.rank in returned and _is_left(message.call):
                        return _clause(message, rank)
    return ""


def unfinished(trace: Trace, rank: int) -> str:
    """Return a call of `rank` that nobody has seen come to its end, sends first; or nothing."""
    left = [
        call
        for call in trace.ranks[rank].calls
        if call.creates_request and not (call.completed_ns or call.cancelled or call.error)
    ]
    first = min(left, key=lambda call: not call.is_send, default=None)
    return f"{signature_of(first)}{at(first)}" if first is not None else ""


def _coming(matches: Matches, rank: int, call: Call) -> Iterable[Posted]:
    """Return the messages that a receive or probe of `rank` may get."""
    if call.function in PROBES:
        return matches.found_by(rank, call)
    return matches.partners.get((rank, call.sequence), ()) if call.is_receive else ()


def _is_left(call: Call) -> bool:
    """Return whether nobody has seen to it that the send comes to its end."""
    return call.is_send and call.creates_request and not call.completed_ns


def _clause(message: Posted, waiting: int) -> str:
    return (
        f"rank {message.rank} returned without waiting for its "
        f"{signature_of(message.call)}{at(message.call)}, so this message may never arrive; "
        f"rank {waiting} waits for it"
    )
