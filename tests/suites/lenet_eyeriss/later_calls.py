"""What comes of many calls, where the first ones are right."""

from grader.api import Outcome

from .over_ranks import Answers, Cases, Check, Run
from .training_cases import SHEETS_RANKS, Training
from .training_checks import assert_trained_as_one


def has_ended(case: Training, outcome: Outcome) -> None:
    """Hold for whatever ends."""


def answers_of_many_calls(
    run: Run, cases: Cases, many_calls: tuple[Training, ...], check: Check = has_ended
) -> Answers:
    """Return the answer of many calls on 4 ranks, if a check holds for it.

    None where the ordinary training is not right, where the calls did not end in time, or where
    they were more than are kept: code that is right may be slow, or send row by row.
    """
    ordinary = run(SHEETS_RANKS, cases[SHEETS_RANKS]).having(buffered_sends=False)
    if not ordinary.holding(assert_trained_as_one):
        return []
    return [
        (case, outcome)
        for case, outcome in run(SHEETS_RANKS, many_calls).holding(check)
        if not outcome.trace.doubts and not any(seen.truncated for seen in outcome.trace.ranks)
    ]
