"""Whether synchronous training comes from what is sent: it is altered, and does training change?"""

from grader.api import (
    assert_envelopes_too_small,
    assert_messages_matter,
    case_context,
    every_contribution_fault,
    every_message_fault,
    inject_faults,
    not_run,
)

from .first_step import same_contributions_as
from .summing import gradient_num_bytes
from .sync_cases import FIRST_STEP, MANY_RANKS, Cases, Run, assert_gradients_are_used

ALTERED_RANKS = (4, 3, *MANY_RANKS)
"""On which messages are altered: the first of these on which there is something to alter."""


def assert_gradients_come_from_messages(run: Run, cases: Cases) -> None:
    """Assert that training goes wrong once a rank's longer messages are altered on their way.

    Short ones may carry the dummies at index 0, which training does not need. Shown on the first
    number of ranks on which a first step uses the gradients. cases: by ranks, all that the part is
    called with. Raises NotProven.
    """
    for ranks in ALTERED_RANKS:
        plain = run(ranks, cases[ranks]).having(group=FIRST_STEP)
        for case, outcome in plain.holding(assert_gradients_are_used):
            faults = every_message_fault(outcome, range(outcome.ranks))
            check = same_contributions_as(case, outcome)
            effects = inject_faults(run, ranks, case, outcome, faults, check)
            assert_messages_matter(outcome.trace, effects)
            return
    not_run("needs a first step on 3 or more ranks that uses the gradients of others")


def assert_gradients_come_from_collectives(run: Run, cases: Cases) -> None:
    """Assert that training goes wrong once what a rank gives to collectives is altered.

    Lower-case reductions are made of messages, which are altered where nothing else can be. Shown
    on ranks as in assert_gradients_come_from_messages. Raises NotProven.
    """
    for ranks in ALTERED_RANKS:
        plain = run(ranks, cases[ranks]).having(group=FIRST_STEP)
        for case, outcome in plain.holding(assert_gradients_are_used):
            check = same_contributions_as(case, outcome)
            with case_context(case, outcome):
                needed = gradient_num_bytes(case) * (ranks - 1) / ranks
                assert_envelopes_too_small(outcome.trace, needed)
                for every_fault in (every_contribution_fault, every_message_fault):
                    faults = every_fault(outcome, range(ranks))
                    effects = inject_faults(run, ranks, case, outcome, faults, check)
                    if any(effect.happened for effect in effects):
                        assert_messages_matter(outcome.trace, effects)
                        return
            return
