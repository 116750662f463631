"""Spreads, and sentences that claim no more than was measured."""

import math

import pytest

from grader.study import Machine, Results, Spread, compared
from grader.study.results import Measurement


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ([1, 1.1, 1.2], [2, 2.1, 2.2], "A is faster than b: 1.1 s (1 to 1.2 s in 3 runs) against"),
        ([2, 2.1, 2.2], [1, 1.1, 1.2], "B is faster than a: 1.1 s (1 to 1.2 s in 3 runs) against"),
        ([1, 2, 3], [2, 3, 4], "This difference is within the spread."),
        ([1, 1, 2], [2, 2, 3], "This difference is within the spread."),
        ([1], [2, 3, 4], "2 to 4 s in 3 runs). A claim needs 3 runs of each."),
        ([1, 1.1], [2, 2, 2], "A claim needs 3 runs of each."),
    ],
)
def test_a_difference_within_the_spread_is_called_so(first, second, told):
    sentence = compared("a", Spread.of(first), "b", Spread.of(second), unit="s")
    assert told in sentence and sentence.endswith(".")


def test_nothing_is_said_of_what_was_not_measured():
    assert compared("a", None, "b", Spread.of([1]), unit="s") == ""


def test_a_spread_is_of_something():
    with pytest.raises(ValueError, match="needs a number"):
        Spread.of([])
    assert Spread.of([3, 1, 2]) == Spread(2, 1, 3, 3)
    assert Spread.of([2.0]).times(1e3).text(unit="ms") == "2e+03 ms (one run)"


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_of_what_is_no_finite_number_nothing_is_concluded(number):
    lost = Spread.of([1.0, number, 2.0])
    assert not lost.is_finite and lost.text(unit="s") == "no finite number"
    for first, second in ((lost, Spread.of([1, 2])), (Spread.of([1, 2]), lost)):
        told = compared("a", first, "b", second, unit="s")
        which = "a" if first is lost else "b"
        assert told == f"A and b cannot be compared: {which} has no finite number."


def test_what_a_seed_changes_is_compared_in_the_same_runs():
    """The median of two runs beside the first of them would show a difference of seeds."""
    accuracies = {"a": [0.35, 0.18], "b": [0.35], "c": []}
    runs = {
        name: [Measurement(name, i, ({"accuracy": each},)) for i, each in enumerate(found)]
        for name, found in accuracies.items()
    }
    runs["c"] = [Measurement("c", 0, (), "crashed")]
    runs["d"] = runs["a"]
    results = Results(runs, Machine(2, "a processor", {}), {})
    found = results.with_common_runs(["a", "b", "c"])
    assert found.numbers("a", "accuracy") == found.numbers("b", "accuracy") == [0.35]
    assert found.numbers("d", "accuracy") == [0.35, 0.18]
    assert found.why_missing("c") == "crashed"
    runs["b"] = [Measurement("b", 2, ({"accuracy": 0.5},))]
    assert results.with_common_runs(["a", "b"]) is results, "no run is common"


def test_a_reason_in_a_cell_is_its_first_clause_and_says_that_it_was_cut():
    machine = Machine(2, "a processor", {})
    reasons = {"a": "time was up; run the same command again", "b": "crashed: " + "x" * 99}
    results = Results({}, machine, reasons)
    assert results.why_in_short("a") == "time was up"
    assert results.why_in_short("b").endswith("xxx...") and len(results.why_in_short("b")) == 48


def test_no_finite_number_is_no_speed_up():
    never = Spread.of([math.nan, 1.0])
    assert not never.speed_up(never).is_finite
    assert Spread.of([2.0]).speed_up(Spread.of([2.0])) == Spread(1, 1, 1, 1)


def test_the_load_is_that_of_most_runs():
    """Not of the first one, whatever came later on idle cores."""
    loads = [1.0, 0.0, 0.1]
    runs = {
        str(i): [Measurement(str(i), 0, ({},), busy_share=each)] for i, each in enumerate(loads)
    }
    assert Results(runs, Machine(2, "p", {}), {}).busy_share == 0.1
