"""Compares times of a call with those of a yardstick measured beside it.

They are wall times, less what the machine did for others. Of several runs the fastest counts. Other
programs on the same cores make a run slower and hardly ever faster, so the fastest tells most of
what was timed and least of the machine.
"""

from collections.abc import Sequence
from math import isfinite

from grader.judge.check_failures import BudgetExceeded
from grader.model.evidence import Budget
from grader.model.finding import found

_DOUBT = 2.0
"""A program that has to share its core with one other takes twice as long."""


def is_clearly_within(
    student_s: Sequence[float], yardstick_s: Sequence[float], factor: float
) -> bool:
    """Return whether the fastest run takes at most half of `factor` times the yardstick's fastest.

    A neighbour on the same core explains any other ratio on a machine that does other work as
    well, whichever of the two it disturbed. It should be measured again before it decides anything.

    student_s, yardstick_s: seconds, best taken in turn, not empty. factor: above 0.
    Raises ValueError for times that no clock shows.
    """
    return time_ratio(student_s, yardstick_s) <= factor / _DOUBT


def assert_within_factor(
    student_s: Sequence[float],
    yardstick_s: Sequence[float],
    factor: float,
    *,
    what: str,
    yardstick: str,
) -> None:
    """Assert that the fastest run is at most `factor` times the yardstick's: the last word.

    A ratio up to the factor holds. Where it is not clearly within, measure again first.
    what, yardstick: words for the two in the message.
    Raises BudgetExceeded; ValueError for times that no clock shows.
    """
    ratio = time_ratio(student_s, yardstick_s)
    if ratio > factor:
        reference = 1000 * min(yardstick_s)
        formula = f"{factor:g} times {yardstick}"
        named = what.rstrip(",")  # which a sentence goes on after
        budget = Budget(named, 1000 * min(student_s), factor * reference, "ms", formula, reference)
        raise BudgetExceeded.over(
            found(
                "budget.time",
                f"{what} took {_duration(min(student_s))} (fastest of {len(student_s)} runs), "
                f"{ratio:.3g} times the {_duration(min(yardstick_s))} of {yardstick} (fastest of "
                f"{len(yardstick_s)}). This part allows a factor of {factor:g}",
                factor=factor,
            ),
            (budget,),
        )


def time_ratio(student_s: Sequence[float], yardstick_s: Sequence[float]) -> float:
    """Return the fastest time over the yardstick's. Raises ValueError for times of no clock."""
    for times in (student_s, yardstick_s):
        if not times or not all(isfinite(each) and each > 0 for each in times):
            raise ValueError(f"not times in seconds: {list(times)}")
    return min(student_s) / min(yardstick_s)


def _duration(time_s: float) -> str:
    return f"{time_s:.3g} s" if time_s >= 1 else f"{1000 * time_s:.3g} ms"
