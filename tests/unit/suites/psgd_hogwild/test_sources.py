"""What a rank says of the files is read with care; a solver is told with its place."""

import json

import pytest
from psgd_hogwild.sources import SOLVERS, Mention, Sources, assert_no_solver, first_named, places

from grader.api import Launch, Outcome, RuleViolation, Trace
from grader.grading_plugin.launch_results import make_launch

from .made_outcomes import facts_of


@pytest.mark.parametrize(
    "text",
    [
        *("", "[1]", "no json", '{"a.py": 3}', "[" * 100_000, "[[1, 2, 3]]", '[["a", "b", "c"]]'),
        *('[["a", 1]]', '[["a", true, "b"]]', json.dumps([["a" * 300, 1, "b"]])),
    ],
)
def test_what_a_rank_sent_otherwise_than_asked_is_left_out(text):
    """A place is a file, a line and a name."""
    assert places(text) == []


def test_a_place_is_a_file_a_line_and_a_name():
    """Others beside it do not matter."""
    assert places('[["a.py", 3, "sklearn"], 7]') == [Mention("a.py", 3, "sklearn")]


def read(*imports: str) -> Launch:
    """Return a launch whose cases read these imports."""
    outcomes = [Outcome("", 1, ({},), ({"imports": each},), Trace(()), 0.0) for each in imports]
    return make_launch([Sources(file="psgd.py")] * len(imports), outcomes, 1)


def test_a_solver_is_told_by_its_first_import():
    """And how many there are."""
    assert_no_solver(read("[]", "[]"))
    text = json.dumps([["more.py", 1, "lightgbm"], ["psgd.py", 2, "sklearn"]])
    with pytest.raises(RuleViolation) as error:
        assert_no_solver(read("[]", text))
    told = {"place": "more.py:1", "file": "more.py", "name": "lightgbm", "number": 2}
    assert facts_of(error, "solver.imported") == told


def test_a_lock_is_told_where_it_is_named_first():
    """Only the names that are asked for."""
    names = '[["a.py", 2, "Barrier"], ["a.py", 5, "Lock"]]'
    (lock,) = first_named(names, ["Lock"])
    assert (lock.key, lock.text, lock.places) == (
        "lock.named",
        "a.py:5 mentions Lock.",
        ("a.py:5",),
    )
    assert [each.facts["name"] for each in first_named(names, ["Lock", "Barrier"])] == ["Barrier"]
    assert first_named(names, ["flock"]) == []


def test_sources_are_asked_for_by_the_file_that_is_graded():
    """The probe reads the folder of that file."""
    first, second = Sources(file="psgd.py").inputs(None, 2, None)
    assert first == second
    assert first["file"] == "psgd.py"
    assert first["solvers"] == sorted(SOLVERS)
