"""Whether synchronous training comes from what is sent: it is altered, and does training change?"""

from itertools import combinations

from grader.api import (
    Call,
    NotProven,
    Outcome,
    assert_envelopes_too_small,
    assert_messages_matter,
    case_context,
    every_contribution_fault,
    every_message_fault,
    found,
    inject_faults,
    may_hold,
    not_run,
)

from . import serial
from .first_step import combined_num_bytes, first_gradient, same_contributions_as
from .fit_cases import Fit
from .summing import gradient_num_bytes, is_collective
from .sync_cases import (
    FIRST_STEP,
    MANY_RANKS,
    Cases,
    Check,
    Run,
    assert_trained_as_one_process,
    launch_of,
)

ALTERED_RANKS = (4, 3, *MANY_RANKS, 2)
"""On which messages are altered: the first of these on which there is something to alter."""
_MOST_RANKS = 5
"""On which it can be looked through whose gradients a sum may hold."""


def assert_gradients_come_from_messages(run: Run, cases: Cases, used: Check) -> None:
    """Assert that training goes wrong once a rank's longer messages are altered on their way.

    Short ones may carry the dummies at index 0, which training does not need. cases: by ranks, all
    that the part is called with. used: says of a first step that it uses gradients; messages are
    altered in the first that does. Raises NotProven.
    """
    case, outcome, check = _first_use(run, cases, used)
    faults = every_message_fault(outcome, range(outcome.ranks))
    effects = inject_faults(run, outcome.ranks, case, outcome, faults, check)
    assert_messages_matter(outcome.trace, effects)
    _assert_gradients_are_given(case, outcome)


def assert_gradients_come_through_mpi(run: Run, cases: Cases, used: Check) -> None:
    """Assert the same of what a rank gives to collectives, or else of its longer messages.

    Lower-case reductions are made of messages. Raises NotProven.
    """
    case, outcome, check = _first_use(run, cases, used)
    ranks = outcome.ranks
    with case_context(case, outcome):
        needed = case.num_steps * gradient_num_bytes(case) * (ranks - 1) / ranks
        assert_envelopes_too_small(outcome.trace, needed)
        happened = []
        for every_fault in (every_contribution_fault, every_message_fault):
            faults = every_fault(outcome, range(ranks))
            effects = inject_faults(run, ranks, case, outcome, faults, check)
            effects = [effect for effect in effects if effect.happened]
            happened += effects
            if effects and all(effect.influenced for effect in effects):
                break
        else:
            assert_messages_matter(outcome.trace, happened)
        _assert_gradients_are_given(case, outcome)


def _assert_gradients_are_given(case: Fit, outcome: Outcome) -> None:
    """Assert that all ranks but one send or give to collectives a piece of a sum with their own.

    Of gradients, by samples; any multiple will do, and so will the weights after a step of it. The
    one may hand out what came of all. Raises NotProven.
    """
    n = outcome.ranks
    if n > _MOST_RANKS:
        return
    needed = (combined_num_bytes(case, outcome) or gradient_num_bytes(case)) / (2 * n)
    without = [rank for rank in range(n) if not _gives_gradients(case, outcome, rank, needed)]
    if len(without) > 1:
        raise NotProven(
            found(
                "evidence.gradients_not_given",
                f"by samples, ranks {without[0]} and {without[1]} give neither messages nor "
                "collectives a piece of their gradients, or of a sum with them. The training may "
                "not come from these; your instructor reviews this part",
                ranks=without,
            )
        )


def _gives_gradients(case: Fit, outcome: Outcome, rank: int, needed: float) -> bool:
    n, start = outcome.ranks, outcome.inputs[0]["start"]
    gradients = [serial.packed(first_gradient(case, outcome, r), case.sizes) for r in range(n)]
    others = [gradients[other] for other in range(n) if other != rank]
    # The sum over all ranks but itself is nothing that a rank could give.
    sums = [
        sum(chosen, start=gradients[rank])
        for number in range(n)
        for chosen in combinations(others, number)
    ]
    steps = [start - case.learning_rate * times * gradients[rank] for times in (1, n)]
    given = [call for call in outcome.trace.ranks[rank].calls if _gives(call)]
    num_bytes = 0.0
    for call in given:
        if any(may_hold(call, each, scaled=True) for each in (*sums, *steps)):
            num_bytes += call.num_bytes if call.sampled_num_bytes else needed
        if num_bytes >= needed:
            return True
    return False


def _gives(call: Call) -> bool:
    """Return whether a rank sends others something by a call, or gives it to a collective."""
    is_root_only = call.function.removeprefix("I").lower() in ("bcast", "bcast_init")
    can_be_unseen = is_collective(call.function) and not is_root_only
    return call.is_send or call.sampled_num_bytes > 0 or can_be_unseen


def _first_use(run: Run, cases: Cases, used: Check) -> tuple[Fit, Outcome, Check]:
    """Return a training that uses gradients, and the check that another one does so as well."""
    for ranks in ALTERED_RANKS:
        for case, outcome in launch_of(run, cases, ranks, FIRST_STEP).holding(used):
            if case.num_steps > 1:
                return case, outcome, assert_trained_as_one_process
            return case, outcome, same_contributions_as(case, outcome)
    not_run("needs a first step that uses the gradients of several ranks")
