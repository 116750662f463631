"""What comes of many calls, where the first ones are right."""

from grader.api import Outcome

from .over_ranks import Answers, Cases, Check, Run, where_drawn_holds
from .training_cases import Training
from .training_checks import assert_trained_as_one


def has_ended(case: Training, outcome: Outcome) -> None:
    """Hold for whatever ends."""


def answers_of_many_calls(
    run: Run, cases: Cases, many_calls: tuple[Training, ...], check: Check = has_ended
) -> Answers:
    """Return the answer of many calls on 3 or 4 ranks, drawn by the seed, if a check holds for it.

    None where the ordinary training is not right, where the calls did not end in time, or where
    they were more than are kept: code that is right may be slow, or send row by row.
    """
    return [
        (case, outcome)
        for _, ordinary in where_drawn_holds(run, cases, assert_trained_as_one)
        for case, outcome in run(ordinary.ranks, many_calls).holding(check)
        if not outcome.trace.doubts and not any(seen.truncated for seen in outcome.trace.ranks)
    ]
