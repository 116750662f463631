"""Whether synchronous training comes from what is sent: it is altered, and does training change?"""

from grader.api import (
    Outcome,
    assert_envelopes_too_small,
    assert_messages_matter,
    case_context,
    every_contribution_fault,
    every_message_fault,
    inject_faults,
    not_run,
)

from .first_step import same_contributions_as
from .fit_cases import Fit
from .summing import gradient_num_bytes
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
            if effects and all(effect.influenced for effect in effects):
                return
            happened += effects
        assert_messages_matter(outcome.trace, happened)


def _first_use(run: Run, cases: Cases, used: Check) -> tuple[Fit, Outcome, Check]:
    """Return a training that uses gradients, and the check that another one does so as well."""
    for ranks in ALTERED_RANKS:
        for case, outcome in launch_of(run, cases, ranks, FIRST_STEP).holding(used):
            if case.num_steps > 1:
                return case, outcome, assert_trained_as_one_process
            return case, outcome, same_contributions_as(case, outcome)
    not_run("needs a first step that uses the gradients of several ranks")
