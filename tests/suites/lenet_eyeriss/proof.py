"""Whether sums come from what is sent: it is altered on its way, and do the sums change?"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from grader.api import (
    Launch,
    Outcome,
    WrongAnswer,
    assert_messages_matter,
    assert_some_message_matters,
    case_context,
    every_payload_fault,
    inject_faults,
)

from .shares import sums_of, surely_summed
from .sum_checks import assert_any_result
from .training_cases import Training

Run = Callable[[int, tuple[Training, ...]], Launch]


def assert_sums_come_from_payloads(run: Run, answers: Iterable[tuple[Training, Outcome]]) -> None:
    """Assert that sums go wrong once what gloo sends of a rank is altered, for each rank.

    For one rank at least where not all is summed: what was altered may be of the rest. Where
    messages are still under way after the call they are not altered. Raises NotProven, and
    WrongAnswer and RunFailed where the same fails that held before.
    """
    for case, outcome in answers:
        summed = [surely_summed(outcome, rank, epoch=0) for rank in range(outcome.ranks)]
        if case.buffered_sends or not np.any(summed):
            continue
        faults = every_payload_fault(outcome, range(outcome.ranks))
        check = _sums_again(summed)
        with case_context(case, outcome):
            effects = inject_faults(run, outcome.ranks, case, outcome, faults, check)
            if np.all(summed):
                assert_messages_matter(outcome.trace, effects)
            else:
                assert_some_message_matters(effects)


def _sums_again(summed: Sequence[NDArray[np.bool_]]) -> Callable[[Training, Outcome], None]:
    """Return the check that on other numbers the same elements are summed, by rank."""

    def check(case: Training, outcome: Outcome) -> None:
        with case_context(case, outcome):
            assert_any_result(outcome)
            for rank, before in enumerate(summed):
                if (before & ~sums_of(outcome, rank, epoch=0).complete).any():
                    raise WrongAnswer(
                        f"rank {rank}: gradients that were the sum over all ranks before are not"
                    )

    return check
