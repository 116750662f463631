"""Whether gradients travel as asked: counted on the wire, against the closed form."""

from collections.abc import Collection, Sequence
from math import prod

from grader.api import (
    Call,
    Finding,
    RuleViolation,
    Trace,
    assert_message_depth,
    assert_not_truncated,
    bytes_sent,
    call_name,
    call_place,
    call_site,
    found,
    functions,
    sends_of,
)

from .serial import NUM_PARAMETERS, SHAPES
from .training_cases import ITEM_NUM_BYTES

_ROOT_GIVES = {"broadcast", "scatter"}
"""In these only the root puts data in; in all other collectives every rank does."""
CARRIES_NOTHING = functions.TORCH_BARRIERS | functions.COMPLETION
_LEAST_SHARE = 0.45
"""Of the bytes that float32 gradients take: sending them as float16 breaks no rule here."""
_CHAINS = 2
_FEW_ELEMENTS = 16
"""A loss or a counter in a collective is no gradient."""


def assert_ring_share(trace: Trace, num_calls: int) -> None:
    """Assert that each of n ranks sent 2(n-1)/n of the gradient elements a call.

    All gradients may go round as one vector, tensor by tensor or in groups; chunks may be padded to
    equal length and be made of whole rows: the bounds leave room for all of these.
    Raises RuleViolation, or NotProven for a trace that is incomplete.
    """
    n = len(trace.ranks)
    hops = 2 * (n - 1) * num_calls
    most = hops * padded_chunks(n)
    for rank, num_bytes in enumerate(bytes_sent(trace)):
        if num_bytes > most * ITEM_NUM_BYTES:
            sent = round(num_bytes / ITEM_NUM_BYTES / num_calls)
            text = f"Rank {rank} sent {sent} elements per call, more than a ring needs."
            helps = "what does a rank send in each step: one chunk, or all gradients?"
            share = found(
                "ring.share",
                f"In a ring of n = {n} ranks with L = {NUM_PARAMETERS} gradients, each rank sends "
                f"2(n-1)/n L = {hops * NUM_PARAMETERS / num_calls / n:.0f} elements per call. "
                f"At most {most // num_calls} are allowed, because chunks may be padded.",
                most=most // num_calls,
            )
            raise RuleViolation(
                found("ring.sends_too_much", text, help=helps, rank=rank, sent=sent), share
            )
    _assert_sent(trace, 2 * (n - 1) * num_calls, "2(n-1)L", num_calls)
    assert_not_truncated(trace)


def assert_ranks_send_together(trace: Trace) -> None:
    """Assert that steps of a ring do not follow one another from rank to rank.

    Where all ranks send in each step, as many messages form a chain as a rank sends. There may be
    twice as many, but not as many as all ranks together send. Raises RuleViolation, or NotProven
    for a trace that is incomplete.
    """
    if len(trace.ranks) > _CHAINS:
        longest = max(len(sends_of(trace, rank)) for rank in range(len(trace.ranks)))
        assert_message_depth(trace, _CHAINS * longest)


def assert_contributes(trace: Trace, ranks: Collection[int], num_calls: int) -> None:
    """Assert that the gradients of these ranks left them by torch.distributed, in any operation.

    Raises RuleViolation, or NotProven for a trace that is incomplete.
    """
    for rank in sorted(ranks):
        number = given_num_bytes(trace, rank) / ITEM_NUM_BYTES
        if number < _LEAST_SHARE * num_calls * NUM_PARAMETERS:
            given = round(number / num_calls)
            text = f"Rank {rank} sent {given} elements per call in messages and collectives; "
            text += f"it has {NUM_PARAMETERS} gradients."
            helps = "which call of torch.distributed sends the gradients to the other ranks?"
            raise RuleViolation.of(
                "traffic.gradients_not_given", text, help=helps, rank=rank, given=given
            )
    assert_not_truncated(trace)


def assert_added_by_messages(trace: Trace, num_calls: int, hops: int = 0) -> None:
    """Assert that no collective adds gradients, or carries more than chunks that are finished.

    Messages have to carry at least what a reduce-scatter needs, or so many hops of one.
    Raises RuleViolation, or NotProven for a trace that is incomplete.
    """
    most = num_calls * padded_chunks(len(trace.ranks))
    for rank in range(len(trace.ranks)):
        calls = _collectives_with_data(trace, rank)
        reduced = [call for call in calls if "reduce" in call.function]
        if sum(call.num_elements for call in reduced) > _FEW_ELEMENTS * num_calls:
            raise RuleViolation(_collective(rank, reduced))
        given = [call for call in calls if _is_given(call, rank)]
        if sum(call.num_elements for call in given) > most:
            raise RuleViolation(_collective(rank, given))
    times, formula = (hops, f"{hops}L") if hops else (len(trace.ranks) - 1, "(n-1)L")
    _assert_sent(trace, times * num_calls, formula, num_calls)
    assert_not_truncated(trace)


def assert_carried_by_messages(trace: Trace, num_calls: int) -> None:
    """Assert that messages carry what an all-reduce needs, and that no collective carries any.

    Raises as assert_added_by_messages.
    """
    for rank in range(len(trace.ranks)):
        calls = _collectives_with_data(trace, rank)
        if sum(call.num_elements for call in calls) > _FEW_ELEMENTS * num_calls:
            raise RuleViolation(_collective(rank, calls))
    _assert_sent(trace, 2 * (len(trace.ranks) - 1) * num_calls, "2(n-1)L", num_calls)
    assert_not_truncated(trace)


def given_num_bytes(trace: Trace, rank: int) -> int:
    """Return how many bytes a rank has put into messages to others and into collectives."""
    return sum(
        call.num_bytes
        for call in trace.ranks[rank].calls
        if not call.is_receive
        and call.function not in CARRIES_NOTHING
        and _is_given(call, rank)
        and call.num_bytes > 0
        and not call.error
    )


def _is_given(call: Call, rank: int) -> bool:
    return call.function not in _ROOT_GIVES or call.peer == rank


def padded_chunks(num_chunks: int) -> int:
    """Return the elements of the longest chunks of whole rows of all tensors together."""
    return sum(_rows_of_chunk(shape[0], num_chunks) * prod(shape[1:]) for shape in SHAPES.values())


def _rows_of_chunk(num_rows: int, num_chunks: int) -> int:
    """Return the most rows of a chunk; a tensor with fewer rows than chunks may stay whole."""
    return -(-num_rows // num_chunks) if num_rows >= num_chunks else num_rows


def _assert_sent(trace: Trace, times: int, formula: str, num_calls: int) -> None:
    """Assert that the ranks together sent so many times all gradients, or half as many bytes."""
    sent = sum(bytes_sent(trace)) / ITEM_NUM_BYTES
    least = times * NUM_PARAMETERS
    if sent < _LEAST_SHARE * least:
        raise RuleViolation.of(
            "traffic.too_few_sent",
            f"The {len(trace.ranks)} ranks together sent {sent / num_calls:.0f} elements per "
            f"call in messages; expected at least {formula} = {least // num_calls}, with "
            f"L = {NUM_PARAMETERS} gradients.",
            help="how do the gradients get from rank to rank?",
            sent=round(sent / num_calls),
            expected=least // num_calls,
        )


def _collectives_with_data(trace: Trace, rank: int) -> list[Call]:
    return [
        call
        for call in trace.ranks[rank].calls
        if call.function not in functions.TORCH_POINT_TO_POINT | CARRIES_NOTHING
        and call.num_elements > 0
    ]


def _collective(rank: int, calls: Sequence[Call]) -> Finding:
    """Return that the largest of these calls carries gradients, or adds them up."""
    call = max(calls, key=lambda each: each.num_elements)
    text = (
        f"Rank {rank} called {call_name(call)} with {call.num_elements} elements{call_site(call)}. "
        "In this part, only point-to-point messages may carry gradients."
    )
    key = "ring.collective_adds" if "reduce" in call.function else "ring.collective_carries"
    return found(key, text, rank=rank, call=call_name(call), place=call_place(call))
