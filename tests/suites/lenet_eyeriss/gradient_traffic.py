"""How many gradient elements an all-reduce sends: counted on the wire, against the closed form."""

from math import prod

from grader.judge.counting import assert_not_truncated, bytes_sent
from grader.judge.findings import RuleViolation
from grader.trace.calls import Trace

from .serial import NUM_PARAMETERS, SHAPES
from .training_cases import ITEM_NUM_BYTES

_ROOT_GIVES = {"broadcast", "scatter"}
"""In these only the root puts data in; in all other collectives every rank does."""
_CARRIES_NOTHING = {"wait", "barrier"}


def assert_ring_share(trace: Trace, epochs: int) -> None:
    """Assert that each of n ranks sent 2 (n-1)/n of the gradient elements an epoch.

    All gradients may go round as one vector, tensor by tensor or in groups; chunks may be padded to
    equal length and be made of whole rows: the bounds leave room for all of these.
    Raises RuleViolation, or NotProven for a trace that is incomplete.
    """
    n = len(trace.ranks)
    hops = 2 * (n - 1) * epochs
    most = hops * sum(_padded_chunk(shape, n) for shape in SHAPES.values())
    least_in_all = hops * NUM_PARAMETERS
    sent = [num_bytes / ITEM_NUM_BYTES for num_bytes in bytes_sent(trace)]
    formula = (
        f"2 (n-1)/n L = {least_in_all / epochs / n:.0f} an epoch with n = {n} ranks and "
        f"L = {NUM_PARAMETERS} gradient elements"
    )
    for rank, number in enumerate(sent):
        if number > most:
            raise RuleViolation(
                f"rank {rank} sent {number / epochs:.0f} elements an epoch; a ring sends {formula} "
                f"({most // epochs} if each tensor's chunks are padded to equal length)"
            )
    if sum(sent) < least_in_all:
        raise RuleViolation(
            f"the ranks together sent {sum(sent) / epochs:.0f} elements of {ITEM_NUM_BYTES} bytes "
            f"an epoch, expected 2 (n-1) L = {least_in_all // epochs}: from each {formula}"
        )
    assert_not_truncated(trace)


def assert_every_rank_contributes(trace: Trace, epochs: int) -> None:
    """Assert that each rank's gradients left it by torch.distributed, in whatever operation.

    Raises RuleViolation, or NotProven for a trace that is incomplete.
    """
    for rank in range(len(trace.ranks)):
        number = given_num_bytes(trace, rank) / ITEM_NUM_BYTES
        if number < epochs * NUM_PARAMETERS:
            raise RuleViolation(
                f"rank {rank} put {number / epochs:.0f} elements an epoch into messages and "
                f"collectives, expected at least its {NUM_PARAMETERS} gradients: whatever the "
                "other ranks have of them, it did not come by torch.distributed"
            )
    assert_not_truncated(trace)


def given_num_bytes(trace: Trace, rank: int) -> int:
    """Return how many bytes a rank has put into messages to others and into collectives."""
    return sum(
        call.num_bytes
        for call in trace.ranks[rank].calls
        if not call.is_receive
        and call.function not in _CARRIES_NOTHING
        and not (call.function in _ROOT_GIVES and call.peer != rank)
        and call.num_bytes > 0
        and not call.error
    )


def _padded_chunk(shape: tuple[int, ...], num_chunks: int) -> int:
    """Return the elements of the longest chunk of whole rows, the first dimension being cut."""
    return -(-shape[0] // num_chunks) * prod(shape[1:])
