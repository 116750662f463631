"""A suite with hidden tests, for attacks on what must not be told about them."""

import shutil
from pathlib import Path

from .canaries import ROOT

_SUITE = '''"""Hidden tests of the naive all-reduce: a length that no visible test has."""

import pytest

from grader.api import part, points

from .allreduce_cases import Reduction
from .allreduce_values import assert_reduced

pytestmark = [part("naive_allreduce"), pytest.mark.mpi]

CASES = (
    Reduction(
        "reduce_once", file="my_naive_allreduce.py", function="allreduce", shape=(41,), op="np.add"
    ),
)


@points(5)
def test_another_length(run):
    """The Fibonacci-free length 41 is reduced like any other."""
    for case, outcome in run(3, CASES):
        assert_reduced(case, outcome)
'''


def suites_with_hidden_tests(place: Path, source: Path = ROOT / "tests" / "suites") -> Path:
    """Copy all suites to a place that does not exist yet; the naive all-reduce gets hidden tests.

    Raises LookupError when the assignment is not written as it was.
    """
    shutil.copytree(source, place, ignore=shutil.ignore_patterns("__pycache__"))
    assignment = place / "mpi_sgd" / "assignment.toml"
    name = 'name = "naive_allreduce"\n'
    text = assignment.read_text()
    if text.count(name) != 1:
        raise LookupError(f"{name!r} occurs {text.count(name)} times in {assignment}")
    assignment.write_text(text.replace(name, f"{name}hidden_points = 5\n"))
    (assignment.parent / "hidden_naive_allreduce.py").write_text(_SUITE)
    return place
