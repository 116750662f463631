"""Whether the bytes that the kernel saw pass between ranks can be the calls that they recorded.

The kernel counts headers and acknowledgements as well. How much gloo sends for an operation was
measured on 2 to 8 ranks (`benchmarks/README.md`); what is allowed is slightly more.
"""

import math
from collections.abc import Iterable, Iterator

from grader.judge.explanation.gloo_calls import Given, exchanged
from grader.trace.calls import Trace

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


def unexplained(trace: Trace, num_bytes: int | None, most_num_bytes: int) -> Iterator[str]:
    """Yield that more went between the ranks than their calls account for.

    num_bytes: what the kernel counted during a case; None where it cannot be told from what others
    send. most_num_bytes: what its calls can need.
    """
    if num_bytes is None or any(seen.truncated or not seen.attached for seen in trace.ranks):
        return
    if num_bytes > most_num_bytes:
        yield (
            f"the kernel counted {num_bytes} bytes between the ranks on the loopback, but what "
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
    groups = {
        communicator
        for seen in trace.ranks
        for communicator, error in seen.calls.keys("communicator", "error")
        if communicator > 0 and not error
    }
    meetings = (_NUM_GROUPS + len(groups)) * len(trace.ranks) ** 2
    needed = needed_by_gloo(exchanged(trace))
    return math.ceil(_TWICE_NUM_BYTES + _MEETING_NUM_BYTES * meetings + needed)


def needed_by_gloo(exchanged: Iterable[Given]) -> float:
    """Return the most that goes out for what ranks gave to operations."""
    needs = [_need(given) for given in exchanged]
    return _BY_HEADERS * sum(num_bytes for num_bytes, _ in needs) + _MESSAGE_NUM_BYTES * sum(
        num_messages for _, num_messages in needs
    )


def payloads_by_gloo(exchanged: Iterable[Given]) -> float:
    """Return what of that is payload: without headers, and without messages of gloo's own."""
    return sum(num_bytes for num_bytes, _ in map(_need, exchanged))


def _need(of: Given) -> tuple[float, float]:
    """Return how many bytes go out on behalf of one rank's call, and in how many messages."""
    n, given, num_elements = of.num_processes, of.num_bytes, of.num_elements
    others = (n - 1) / n
    match of.operation:
        case "send":
            return given, 1
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
