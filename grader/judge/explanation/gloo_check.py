"""Whether the payloads that gloo has written can be the calls that torch.distributed recorded.

The interposer counts them below torch, and what it counts is no object of Python. Unlike the kernel
it tells messages from collectives, and one rank's from another's; what does not go by gloo it does
not see at all.
"""

from collections.abc import Iterator, Sequence

from grader.judge.explanation.gloo_calls import SEND, Given, exchanged
from grader.judge.explanation.loopback_check import payloads_by_gloo
from grader.trace.calls import Trace
from grader.trace.sent_by_gloo import SentByGloo

_SMALL_NUM_BYTES = 4 << 10
"""Of each rank: short messages that are no calls of their own."""
_WATCHED_NUM_BYTES = 4
"""What a rank sends to another one in a barrier that is watched, by a message."""
_COLLECTIVES_NUM_BYTES = 64 << 10
"""Of all ranks: DistributedDataParallel compares what it has, as do operations on objects."""


def unrecorded_payloads(trace: Trace, sent: Sequence[SentByGloo]) -> Iterator[str]:
    """Yield where gloo sent what no call accounts for, or not what a call says to have sent.

    trace: the calls of one case, of every phase. sent: by each rank, during the case; empty where
    ranks have no gloo: of MPI there may be a million calls, which nobody looks at here.
    """
    if not sent or any(seen.truncated or not seen.attached for seen in trace.ranks):
        return
    given = list(exchanged(trace))
    messages = [each for each in given if each.operation == SEND]
    for rank, counted in enumerate(sent):
        own = [each for each in messages if each.rank == rank]
        least = sum(each.num_bytes for each in own if each.has_arrived)
        most = sum(each.num_bytes for each in own)
        small = _SMALL_NUM_BYTES + _by_watched_barriers(given, rank)
        if not least <= counted.of_messages <= most + small:
            yield (
                f"gloo sent {counted.of_messages} bytes in messages of rank {rank}, but rank "
                f"{rank} recorded {most if counted.of_messages > most else least}"
            )
    needed = int(payloads_by_gloo(each for each in given if each.operation != SEND))
    found = sum(counted.of_collectives for counted in sent)
    if found > needed + _COLLECTIVES_NUM_BYTES:
        yield (
            f"gloo sent {found} bytes for collectives, but those that the ranks recorded need "
            f"at most {needed + _COLLECTIVES_NUM_BYTES}"
        )


def _by_watched_barriers(given: Sequence[Given], rank: int) -> int:
    """Return what they send by messages: a program may call one in each of a thousand steps."""
    return sum(
        _WATCHED_NUM_BYTES * each.num_processes
        for each in given
        if each.rank == rank and each.operation == "monitored_barrier"
    )
