"""How the gradients of a synchronous fit were brought together, read off its trace."""

from collections.abc import Sequence
from functools import cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from grader.api import (
    Attempt,
    Call,
    Outcome,
    RuleViolation,
    Trace,
    assert_buffers_not_pickles,
    assert_not_truncated,
    bytes_sent,
    call_place,
    counted,
    found,
    messages,
    ranks_text,
    reduction_communicators,
)

from .fit_cases import FLOAT64_NUM_BYTES, Fit
from .reasons_first import call_facts, call_text

BRINGS_TOGETHER = (
    *("Allreduce", "Reduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan"),
    *("Allgather", "Allgatherv", "Gather", "Gatherv", "Alltoall", "Alltoallv", "Alltoallw"),
)
_HANDS_OUT = ("Bcast",)
PICKLE_NUM_BYTES = 512
"""More than the pickle of an array adds to it."""
_PICKLED_ARRAY_NUM_BYTES = 128
"""Less than the pickle of any array, more than that of a number."""


def assert_collectives_carry_gradients(case: Fit, outcome: Outcome) -> None:
    """Assert that every rank took part in collectives, and none sent its gradients by hand.

    Lower-case calls count: mpi4py makes them of messages on a communicator of its own.
    Raises RuleViolation, NotProven.
    """
    trace = outcome.trace
    assert_not_truncated(trace)
    without = [
        rank
        for rank, seen in enumerate(trace.ranks)
        if not seen.calls.function_is(is_collective).any()
    ]
    by_hand = sent_by_hand(trace)
    evidence = [
        found(
            "sync.message_by_hand",
            f"Rank {rank} called {call_text(call)}.",
            **call_facts(rank, call),
        )
        for rank, call in by_hand[:1]
    ]
    if without:
        text = (
            f"{ranks_text(without).capitalize()} called no MPI collective that could sum the "
            "gradients, such as Allreduce."
        )
        raise RuleViolation(found("sync.no_collective", text, ranks=without), *evidence)
    sent_num_bytes = sum(call.num_bytes for _, call in by_hand)
    needed_num_bytes = (outcome.ranks - 1) * case.num_steps * gradient_num_bytes(case)
    if sent_num_bytes >= needed_num_bytes / 2:
        raise RuleViolation(
            found(
                "sync.summed_by_hand",
                f"The ranks sent each other {sent_num_bytes:,} bytes point to point; an MPI "
                "collective, such as Allreduce, must sum the gradients.",
                num_bytes=sent_num_bytes,
            ),
            *evidence,
        )


def assert_gradients_given_once(case: Fit, outcome: Outcome) -> None:
    """Assert that a rank gives the collectives its gradients once a step, and little more.

    At most half as much again; how often mpi4py's lower-case reductions pass on what they were
    given is theirs to decide.
    Raises RuleViolation with the bytes of the first rank that gives more.
    """
    contributing = _forms_of(*BRINGS_TOGETHER)
    dummies_num_bytes = FLOAT64_NUM_BYTES * (1 + case.sizes[0])
    once = case.num_steps * (gradient_num_bytes(case) + dummies_num_bytes)
    for rank, seen in enumerate(outcome.trace.ranks):
        given = seen.calls.where(seen.calls.function_is(contributing.__contains__))
        pickles = PICKLE_NUM_BYTES * sum(call.pickled for call in given)
        num_bytes = sum(max(call.num_bytes, 0) for call in given)
        if num_bytes > 1.5 * once + pickles:
            raise RuleViolation(
                found(
                    "sync.gradients_given_twice",
                    f"Rank {rank} passed {num_bytes:,} bytes to collectives in "
                    f"{counted(case.num_steps, 'step')}; the gradients of all "
                    f"steps take {once:,} bytes.",
                    help="sum the gradients of each step only once",
                    rank=rank,
                    num_bytes=num_bytes,
                    expected_num_bytes=once,
                ),
                found(
                    "sync.calls_of_collectives",
                    f"Rank {rank} called {counted(len(given), 'collective')}, "
                    f"starting with {call_text(given[0])}.",
                    number=len(given),
                    place=call_place(given[0]),
                ),
            )


def assert_messages_carry_gradients(case: Fit, outcome: Outcome) -> None:
    """Assert that messages sent by hand could bring the gradients together, and no collective did.

    Every gradient that no collective carries has to reach another rank, and n - 1 of n have to
    come back summed. Raises RuleViolation, NotProven.
    """
    trace = outcome.trace
    assert_not_truncated(trace)
    once = case.num_steps * gradient_num_bytes(case)
    for rank in range(len(trace.ranks)):
        given = _given_to_collectives(trace, rank)
        if sum(max(call.num_bytes, 0) for call in given) >= once / 2:
            raise RuleViolation.of(
                "sync_ring.collective_carries_gradients",
                f"Rank {rank} called {call_text(given[0])}, a collective that carries the "
                "gradients.",
                help="this part requires your own ringallreduce, built on point-to-point calls",
                **call_facts(rank, given[0]),
            )
    sent = sum(call.num_bytes for _, call in sent_by_hand(trace))
    least = (outcome.ranks - 1) * (once - _summed_num_bytes(trace))
    if sent < least:
        text = (
            f"All ranks together sent {sent:,} bytes in messages; summing their gradients "
            f"takes at least {least:,}."
        )
        raise RuleViolation.of(
            "sync_ring.too_little_sent", text, num_bytes=sent, least_num_bytes=least
        )


def _given_to_collectives(trace: Trace, rank: int) -> Sequence[Call]:
    """Return the calls that bring arrays together or hand them out, or are made by such a one."""
    calls = trace.ranks[rank].calls
    is_inner = calls.flag("is_send") & _are_of_reductions(trace, rank)
    return calls.where(calls.function_is(is_collective) | is_inner)


def _summed_num_bytes(trace: Trace) -> int:
    """Return the most bytes that a rank gives to calls that bring gradients together."""
    return max(
        sum(max(call.num_bytes, 0) for call in brings_together(trace, rank) if gives(call))
        for rank in range(len(trace.ranks))
    )


def brings_together(trace: Trace, rank: int) -> Sequence[Call]:
    """Return the calls by which gradients come together; messages of a lower-case one count."""
    calls = trace.ranks[rank].calls
    forms = _forms_of(*BRINGS_TOGETHER)
    # A persistent collective that is only made: its start is a call, too.
    is_prepared = calls.function_is(lambda name: name.endswith("_init"))
    does_reduce = calls.function_is(forms.__contains__)
    does_reduce &= ~is_prepared | calls.flag("creates_request")
    return calls.where(does_reduce | _are_of_reductions(trace, rank))


def _are_of_reductions(trace: Trace, rank: int) -> NDArray[np.bool_]:
    """Return which calls of a rank are made by mpi4py's lower-case reductions."""
    calls = trace.ranks[rank].calls
    return np.isin(calls.column("communicator"), [*reduction_communicators(calls)])


def is_collective(function: str) -> bool:
    """Return whether a function brings arrays of all ranks together, or hands them out."""
    return function in _forms_of(*BRINGS_TOGETHER, *_HANDS_OUT)


def gives(call: Call) -> bool:
    """Return whether a rank sends others something by a call, or gives it to a collective."""
    is_root_only = call.function.removeprefix("I").lower() in ("bcast", "bcast_init")
    can_be_unseen = is_collective(call.function) and not is_root_only
    return call.is_send or call.sampled_num_bytes != 0 or can_be_unseen


def assert_arrays_not_pickled(trace: Trace) -> None:
    """Assert that no array was pickled; a lower-case call may send a number or a word.

    Raises RuleViolation, NotProven.
    """
    assert_buffers_not_pickles(trace, may_be_silent=True, min_num_bytes=_PICKLED_ARRAY_NUM_BYTES)


def assert_ring_traffic(
    case: Fit, outcome: Outcome | Attempt, least_steps: int = 0, most_times: float = 1
) -> None:
    """Assert that the gradients of a step were sent as rings send them, in all of the fit.

    least_steps: so many steps will do, where the fit was cut short. most_times: what is sent may be
    so many times the most that rings need, since a ring may go on after all is done.

    The least is 2 (n - 1) times all gradients, over all ranks, but for biases that a collective
    sums: that it is called has its own price. The most
    allows every array, the two dummies included, to be a ring of its own with the last chunk
    padded. Pickling is not this part's concern.
    Raises RuleViolation with the bytes.
    """
    n = outcome.ranks
    dummies = [(1,), (case.sizes[0],)]
    # A chunk may be a number of whole rows, too.
    padded = [n * -(-rows // n) * prod(row) for rows, *row in (*case.shapes.values(), *dummies)]
    needed = (least_steps or case.num_steps) * gradient_num_bytes(case)
    summed = 0 if least_steps else _summed_num_bytes(outcome.trace)
    needed -= min(summed, _bias_num_bytes(case))
    least = 2 * (n - 1) * needed
    most = 2 * (n - 1) * case.num_steps * FLOAT64_NUM_BYTES * sum(padded)
    num_pickled = sum(int(seen.calls.flag("pickled").sum()) for seen in outcome.trace.ranks)
    most += PICKLE_NUM_BYTES * num_pickled
    sent = sum(bytes_sent(outcome.trace))
    # Float32 takes half as many bytes; what that does to the values is not this rule's concern.
    is_by_ring = not least_steps and summed <= _bias_num_bytes(case)
    if not least / (2 if is_by_ring else 1) <= sent <= most_times * most:
        raise RuleViolation.of(
            "sync_ring.traffic_unlike_a_ring",
            f"All ranks together sent {sent:,} bytes in "
            f"{counted(case.num_steps, 'step')}; ring all-reduces of the gradients "
            f"send {least:,} to {most:,}.",
            help=f"a ring of n = {n} ranks sends 2(n-1) times the gradients' size per step",
            num_bytes=sent,
            least_num_bytes=least,
            most_num_bytes=most,
        )


def gradient_num_bytes(case: Fit) -> int:
    """Return the size of all gradients of one step."""
    return FLOAT64_NUM_BYTES * sum(prod(shape) for shape in case.shapes.values())


def _bias_num_bytes(case: Fit) -> int:
    """Return the size of all gradients of biases in all of the fit."""
    return FLOAT64_NUM_BYTES * sum(case.sizes[1:]) * case.num_steps


def sent_by_hand(trace: Trace) -> list[tuple[int, Call]]:
    """Return the messages that the student's code sent itself, each with its rank."""
    by_hand = []
    for source, seen in enumerate(trace.ranks):
        own = reduction_communicators(seen.calls)
        for destination in range(len(trace.ranks)):
            sent = messages(trace, source, destination)
            by_hand += [(source, call) for call in sent if call.communicator not in own]
    return by_hand


@cache
def _forms_of(*names: str) -> frozenset[str]:
    return frozenset(form for name in names for form in (name, f"I{name.lower()}", f"{name}_init"))
