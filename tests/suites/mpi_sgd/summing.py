"""How the gradients of a synchronous fit were brought together, read off its trace."""

from math import prod

from grader.api import (
    Call,
    Outcome,
    RuleViolation,
    Trace,
    assert_buffers_not_pickles,
    assert_not_truncated,
    bytes_sent,
    call_name,
    call_site,
    messages,
    ranks_text,
    reduction_communicators,
)

from .fit_cases import FLOAT64_NUM_BYTES, Fit

_BRINGS_TOGETHER = (
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
    accepted = _forms_of(*_BRINGS_TOGETHER, *_HANDS_OUT)
    without = [
        rank
        for rank, seen in enumerate(trace.ranks)
        if not any(call.function in accepted for call in seen.calls)
    ]
    by_hand = _sent_by_hand(trace)
    evidence = f"; rank {by_hand[0][0]} calls {_told(by_hand[0][1])}" if by_hand else ""
    if without:
        verb = "calls" if len(without) == 1 else "call"
        raise RuleViolation(
            f"{ranks_text(without)} {verb} no MPI collective that could sum the gradients, such as "
            f"Allreduce{evidence}"
        )
    sent_num_bytes = sum(call.num_bytes for _, call in by_hand)
    needed_num_bytes = (outcome.ranks - 1) * case.num_steps * gradient_num_bytes(case)
    if sent_num_bytes >= needed_num_bytes / 2:
        raise RuleViolation(
            f"the ranks send each other {sent_num_bytes:,} bytes in messages of their own"
            f"{evidence}; an MPI collective, such as Allreduce, is to bring the gradients together"
        )


def assert_gradients_given_once(case: Fit, outcome: Outcome) -> None:
    """Assert that a rank gives the collectives its gradients once a step, and little besides.

    At most half as much again; how often mpi4py's lower-case reductions pass on what they were
    given is theirs to decide.
    Raises RuleViolation with the bytes of the first rank that gives more.
    """
    contributing = _forms_of(*_BRINGS_TOGETHER)
    dummies_num_bytes = FLOAT64_NUM_BYTES * (1 + case.sizes[0])
    once = case.num_steps * (gradient_num_bytes(case) + dummies_num_bytes)
    for rank, seen in enumerate(outcome.trace.ranks):
        given = [call for call in seen.calls if call.function in contributing]
        pickles = PICKLE_NUM_BYTES * sum(call.pickled for call in given)
        num_bytes = sum(max(call.num_bytes, 0) for call in given)
        if num_bytes > 1.5 * once + pickles:
            raise RuleViolation(
                f"rank {rank} gives collectives {num_bytes:,} bytes in {case.num_steps} steps "
                f"({len(given)} calls, the first is {_told(given[0])}); the gradients of these "
                f"steps have {once:,} bytes and are to be summed once"
            )


def assert_messages_carry_gradients(case: Fit, outcome: Outcome) -> None:
    """Assert that messages sent by hand could bring the gradients together, and no collective did.

    Every gradient has to reach another rank, and n - 1 of n have to come back summed.
    Raises RuleViolation, NotProven.
    """
    trace = outcome.trace
    assert_not_truncated(trace)
    step = gradient_num_bytes(case)
    carrying = _forms_of(*_BRINGS_TOGETHER, *_HANDS_OUT)
    for rank, seen in enumerate(trace.ranks):
        own = reduction_communicators(seen.calls)
        given = [
            call
            for call in seen.calls
            if call.function in carrying or (call.is_send and call.communicator in own)
        ]
        if sum(max(call.num_bytes, 0) for call in given) >= case.num_steps * step / 2:
            raise RuleViolation(
                f"rank {rank} calls {_told(given[0])}: a collective carries the gradients; this "
                "part asks for your own ringallreduce, in point-to-point messages"
            )
    sent = sum(call.num_bytes for _, call in _sent_by_hand(trace))
    if sent < case.num_steps * (outcome.ranks - 1) * step:
        raise RuleViolation(
            f"all ranks together sent {sent:,} bytes in messages; to bring the gradients of "
            f"{outcome.ranks} ranks together takes at least "
            f"{case.num_steps * (outcome.ranks - 1) * step:,}"
        )


def assert_arrays_not_pickled(trace: Trace) -> None:
    """Assert that no array was pickled; a lower-case call may send a number or a word.

    Raises RuleViolation, NotProven.
    """
    assert_buffers_not_pickles(trace, may_be_silent=True, min_num_bytes=_PICKLED_ARRAY_NUM_BYTES)


def assert_ring_traffic(case: Fit, outcome: Outcome) -> None:
    """Assert that the gradients of a step were sent as rings send them, in all of the fit.

    The least is 2 (n - 1) times all gradients, over all ranks and per step; the most allows every
    array, the two dummies included, to be a ring of its own with the last chunk padded. Pickling
    is not this part's concern.
    Raises RuleViolation with the bytes.
    """
    n = outcome.ranks
    dummies = [(1,), (case.sizes[0],)]
    # A chunk may be a number of whole rows, too.
    padded = [n * -(-rows // n) * prod(row) for rows, *row in (*case.shapes.values(), *dummies)]
    per_array = 2 * (n - 1) * case.num_steps * FLOAT64_NUM_BYTES
    least = per_array * sum(prod(shape) for shape in case.shapes.values())
    most = per_array * sum(padded)
    pickled = [call for seen in outcome.trace.ranks for call in seen.calls if call.pickled]
    most += PICKLE_NUM_BYTES * len(pickled)
    sent = sum(bytes_sent(outcome.trace))
    if not least <= sent <= most:
        raise RuleViolation(
            f"all ranks together sent {sent:,} bytes in {case.num_steps} steps; ring all-reduces "
            f"of the gradients send {least:,} to {most:,} (2 (n - 1) times their size per step)"
        )


def gradient_num_bytes(case: Fit) -> int:
    """Return the size of all gradients of one step."""
    return FLOAT64_NUM_BYTES * sum(prod(shape) for shape in case.shapes.values())


def _sent_by_hand(trace: Trace) -> list[tuple[int, Call]]:
    """Return the messages that the student's code sent itself, each with its rank."""
    found = []
    for source, seen in enumerate(trace.ranks):
        own = reduction_communicators(seen.calls)
        for destination in range(len(trace.ranks)):
            sent = messages(trace, source, destination)
            found += [(source, call) for call in sent if call.communicator not in own]
    return found


def _forms_of(*names: str) -> set[str]:
    return {form for name in names for form in (name, f"I{name.lower()}", f"{name}_init")}


def _told(call: Call) -> str:
    return f"{call_name(call)}{call_site(call)}"
