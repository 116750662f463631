"""A row-stationary convolution: its result, and what each element does in each cycle."""

import pytest

from grader.suite.marks import part, points

from .eyeriss_cases import CONVOLUTIONS, COUNTS
from .eyeriss_checks import (
    assert_counts,
    assert_ofmap,
    assert_outputs_leave_on_time,
    assert_rule,
    assert_sequential_cycles,
)
from .replay import Rule

pytestmark = [part("eyeriss"), pytest.mark.mpi]


@pytest.fixture
def convolutions(run):
    """Return the answered cases with ifmap and kernel."""
    return run(1, CONVOLUTIONS).having(probe="run_dataflow")


@points(2)
def test_sequential_cycles(run):
    """sequential_cycles is the time of one element that does everything: 28 in the example."""
    for case, outcome in run(1, COUNTS).having(probe="count_sequential_cycles"):
        assert_sequential_cycles(case, outcome)


@points(2)
def test_ofmap_is_the_convolution(convolutions):
    """The ofmap is the convolution of ifmap and kernel, with stride 1 and without padding."""
    for case, outcome in convolutions:
        assert_ofmap(case, outcome)


@points(1)
def test_operations_are_all_there(convolutions):
    """The schedule has RS multiplies and RS - 1 adds for each output: 16 and 12 in the example."""
    for case, outcome in convolutions:
        assert_counts(case, outcome)


@points(2, requires=test_operations_are_all_there)
def test_every_element_works_on_its_own_rows(convolutions):
    """PE(r, e) does all work of kernel row r and ifmap row r + e, and gets psums from below."""
    for case, outcome in convolutions:
        assert_rule(Rule.OWN_WORK, case, outcome)


@points(2, requires=test_operations_are_all_there)
def test_no_element_does_two_operations_in_a_cycle(convolutions):
    """An element does at most one operation, multiply or add, in each cycle."""
    for case, outcome in convolutions:
        assert_rule(Rule.ONE_A_CYCLE, case, outcome)


@points(2, requires=test_operations_are_all_there)
def test_operands_exist_before_they_are_used(convolutions):
    """An operation uses what was made in an earlier cycle only."""
    for case, outcome in convolutions:
        assert_rule(Rule.OPERANDS, case, outcome)


@points(1, requires=test_operations_are_all_there)
def test_values_are_what_the_operands_make(convolutions):
    """The value of each operation is the product or the sum of its operands."""
    for case, outcome in convolutions:
        assert_rule(Rule.VALUE, case, outcome)


@points(3, requires=test_operations_are_all_there)
def test_outputs_leave_on_time(convolutions):
    """Each output leaves in the cycle that the model says: 4 and 8 in the example."""
    for case, outcome in convolutions:
        assert_outputs_leave_on_time(case, outcome)
