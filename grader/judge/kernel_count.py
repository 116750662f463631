"""Whether the bytes that the kernel saw pass between ranks can be the calls that they recorded.

The kernel counts headers and acknowledgements as well. How much gloo sends for an operation was
measured on 2 to 8 ranks (`benchmarks/gloo_bytes.py`); what is allowed is slightly more.
"""

import math
from collections.abc import Iterator

from grader.trace.calls import Call, Trace

_BY_HEADERS = 1.1
"""Long messages go in segments of up to 64 KiB, and not all of them are full."""
_TWICE_NUM_BYTES = 4 << 16
"""On a busy machine TCP sends a segment again now and then, for the lack of an answer."""
_MESSAGE_NUM_BYTES = 480
"""What gloo's three small messages around one of data add to it, each acknowledged by itself."""
_MEETING_NUM_BYTES = 1200
"""What it adds for each two ranks, itself included, that a process group is made."""
_NUM_GROUPS = 2
"""Which a case may make without a call that names them."""
_MPI_NUM_BYTES = 4 << 10
"""Of each rank: MPI's messages go through shared memory, and over TCP goes next to nothing."""
_MPI_START_NUM_BYTES = 256 << 10
_MPI_START_NUM_BYTES_PER_RANK = 16 << 10
"""What MPI asks mpirun when it starts, and about each of the others."""
_COLLECTIVES = (
    *("all_reduce", "reduce_scatter", "reduce", "all_gather", "all_to_all"),
    *("broadcast", "gather", "scatter", "barrier", "monitored_barrier"),
)
"""The beginning of an operation's name says which it is, the first that fits."""


def unexplained(trace: Trace, num_bytes: int | None, most_num_bytes: int) -> Iterator[str]:
    """Yield that more went between the ranks than their calls account for.

    num_bytes: what the kernel counted during a case; None where it cannot be told from what others
    send. most_num_bytes: what its calls can need.
    """
    if num_bytes is None or any(seen.truncated or not seen.attached for seen in trace.ranks):
        return
    if num_bytes > most_num_bytes:
        yield (
            f"the kernel saw {num_bytes} bytes pass between the ranks over the loopback, and what "
            f"they recorded needs at most {most_num_bytes}"
        )


def most_by_mpi(trace: Trace, *, starts: bool) -> int:
    """Return the most that MPI sends over the loopback; starts: within the case."""
    n = len(trace.ranks)
    start = _MPI_START_NUM_BYTES + _MPI_START_NUM_BYTES_PER_RANK * n if starts else 0
    return n * (_MPI_NUM_BYTES + start)


def most_by_gloo(trace: Trace) -> int:
    """Return the most that gloo and the kernel need for the calls of all ranks.

    trace: the calls of one case, of every phase.
    """
    # One that was refused at once has sent nothing: it would allow for what it only asked for.
    calls = [call for seen in trace.ranks for call in seen.calls if not call.error]
    groups = {call.communicator for call in calls if call.communicator > 0}
    meetings = (_NUM_GROUPS + len(groups)) * len(trace.ranks) ** 2
    needs = [_need(call) for call in calls]
    return math.ceil(
        _TWICE_NUM_BYTES
        + _MEETING_NUM_BYTES * meetings
        + _BY_HEADERS * sum(num_bytes for num_bytes, _ in needs)
        + _MESSAGE_NUM_BYTES * sum(num_messages for _, num_messages in needs)
    )


def _need(call: Call) -> tuple[float, float]:
    """Return how many bytes go out on behalf of one rank's call, and in how many messages."""
    n = max(call.communicator_size, 1)
    given, num_elements = max(call.num_bytes, 0), max(call.num_elements, 0)
    others = (n - 1) / n
    if call.is_send:
        return given, 1
    operation = next((each for each in _COLLECTIVES if call.function.startswith(each)), "")
    match operation:
        case "all_reduce":
            return 2 * others * given, 2 * others * min(num_elements, 2 * n)
        case "reduce_scatter":
            # An all-reduce of all that is given, or of each piece.
            return 2 * others * given, 2 * others * min(num_elements, 2 * n * n)
        case "reduce":
            return others * (n + 1) / n * given, min(num_elements, 2 * n) + 1
        case "all_gather":
            return (n - 1) * given, 2 * (n - 1)
        case "all_to_all":
            return others * given, n
        case "broadcast" | "gather":
            return others * given, 1
        case "scatter":
            return others * given, n if given else 0
        case "barrier" | "monitored_barrier":
            return 0, 2 + math.log2(n)
    return 0, 0
