"""The fastest runs decide; a ratio that a busy neighbour explains is measured again."""

import math

import pytest

from grader.judge.budgets import assert_within_factor, is_clearly_within, time_ratio
from grader.judge.check_failures import BudgetExceeded


@pytest.mark.parametrize(
    ("student_s", "expected"),
    [
        ([0.5, 0.5, 0.5], True),
        ([0.501, 0.501, 0.501], False),
        ([2.0, 2.0, 2.0], False),
        ([0.5, 50.0, 0.5], True),
        ([50.0, 0.5, 50.0], True),
        ([1.9, 2.9], False),
    ],
)
def test_up_to_half_of_the_factor_is_clear(student_s, expected):
    """A disturbed run decides nothing."""
    assert is_clearly_within(student_s, [99.0, 0.1, 99.0], 10) is expected


def test_the_last_word():
    """What is not within is over the budget, and the message has all numbers."""
    words = {"what": "ringallreduce, 6 MiB,", "yardstick": "Allreduce"}
    assert_within_factor([0.02, 0.02], [0.002], 10, **words)
    with pytest.raises(BudgetExceeded) as caught:
        assert_within_factor([1.3, 1.25, 1.35], [0.025, 0.026, 0.029], 10, **words)
    assert str(caught.value) == (
        "ringallreduce, 6 MiB, took 1.25 s (fastest of 3 runs), 50 times the 25 ms of Allreduce "
        "(fastest of 3). This part allows a factor of 10"
    )
    (budget,) = caught.value.budgets
    assert (budget.what, budget.actual, budget.allowed, budget.reference) == (
        "ringallreduce, 6 MiB",
        1250,
        250,
        25,
    )
    with pytest.raises(BudgetExceeded):
        assert_within_factor([1.5], [0.1], 10, **words)


@pytest.mark.parametrize("times", [[], [0.0], [-1.0], [math.nan], [math.inf], [1.0, math.nan]])
def test_times_that_no_clock_shows(times):
    """A mistake of the grader, never a verdict."""
    with pytest.raises(ValueError, match="not times"):
        time_ratio(times, [1.0])
    with pytest.raises(ValueError, match="not times"):
        is_clearly_within([1.0], times, 2)
    with pytest.raises(ValueError, match="not times"):
        assert_within_factor([1.0], times, 2, what="the call", yardstick="Allreduce")
