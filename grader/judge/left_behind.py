"""Messages that a rank started to send and then left: MPI may never finish them."""

from grader.judge.wording import at, signature_of
from grader.trace.calls import PROC_NULL, Call, Trace


def left_behind(trace: Trace, returned: frozenset[int]) -> str:
    """Return a clause on the first send that a returned rank has not waited for; or nothing.

    A long message is handed over piece by piece, and only while its sender is inside of MPI.
    """
    for rank in sorted(returned & set(range(len(trace.ranks)))):
        for call in trace.ranks[rank].calls:
            if _is_left(call):
                return (
                    f"rank {rank} has returned without having waited for its "
                    f"{signature_of(call)}{at(call)}, so that this message may never arrive"
                )
    return ""


def _is_left(call: Call) -> bool:
    is_on_its_way = call.is_send and call.creates_request and call.peer != PROC_NULL
    return is_on_its_way and not (call.completed_ns or call.cancelled or call.error)
