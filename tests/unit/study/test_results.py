"""Spreads, and sentences that claim no more than was measured."""

import math

import pytest

from grader.study import Spread, compared
from grader.study.results import Machine, Measurement, Results


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ([1, 1.1, 1.2], [2, 2.2], "a is faster than b: 1.1 s (1 to 1.2 s in 3 runs) against"),
        ([2, 2.2], [1, 1.1, 1.2], "b is faster than a: 1.1 s (1 to 1.2 s in 3 runs) against"),
        ([1, 3], [2, 4], "this difference is within the spread."),
        ([1, 2], [2, 3], "this difference is within the spread."),
        ([1], [2, 3], "how much that varies is not known."),
    ],
)
def test_a_difference_within_the_spread_is_called_so(first, second, told):
    sentence = compared("a", Spread.of(first), "b", Spread.of(second), less="faster", unit="s")
    assert told in sentence and sentence.endswith(".")


def test_nothing_is_said_of_what_was_not_measured():
    assert compared("a", None, "b", Spread.of([1]), less="faster", unit="s") == ""


def test_numbers_that_are_not_finite_have_no_mark_and_are_told():
    ranks = [({"time_s": 1.0, "loss": loss},) for loss in (0.5, math.nan, 0.7)]
    runs = [Measurement("a", repeat, each) for repeat, each in enumerate(ranks)]
    results = Results({"a": runs}, Machine(2, "", {}), {})
    assert results.numbers("a", "loss") == [0.5, 0.7]
    assert results.spread("a", "time_s") == Spread(1.0, 1.0, 1.0, 3)
    assert results.doubts("a") == ["loss was nan in 1 of 3 runs"]


def test_a_spread_is_of_something():
    with pytest.raises(ValueError, match="takes a number"):
        Spread.of([])
    assert Spread.of([3, 1, 2]) == Spread(2, 1, 3, 3)
    assert Spread.of([2.0]).times(1e3).text(unit="ms") == "2e+03 ms (one run)"
