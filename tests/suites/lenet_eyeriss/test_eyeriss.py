"""A row-stationary convolution: its result, and what each element does in each cycle."""

from collections.abc import Callable

import pytest

from grader.api import Launch, Outcome, not_run, part, points

from .eyeriss_cases import ANY_SIZE, CONVOLUTIONS, COUNTS, EXAMPLE, NARROW, Convolution
from .eyeriss_checks import (
    assert_counts,
    assert_cycles_count_from_one,
    assert_ofmap,
    assert_one_operation_a_cycle,
    assert_operands_exist,
    assert_outputs_leave_on_time,
    assert_own_rows,
    assert_sequential_cycles,
    assert_values,
)

pytestmark = [part("eyeriss"), pytest.mark.mpi]

Check = Callable[[Convolution, Outcome], None]

CHECKS: tuple[Check, ...] = (
    assert_ofmap,
    assert_counts,
    assert_own_rows,
    assert_one_operation_a_cycle,
    assert_operands_exist,
    assert_values,
    assert_outputs_leave_on_time,
    assert_cycles_count_from_one,
)


@points(1)
def test_ofmap_of_the_example(run):
    """The ofmap of the example's size is the convolution of ifmap and kernel."""
    assert_all(assert_ofmap, run(1, CONVOLUTIONS).having(subject=EXAMPLE))


@points(1.5)
def test_ofmap_of_any_size(run):
    """The ofmap of any size is the convolution, with stride 1 and without padding."""
    assert_all(assert_ofmap, run(1, CONVOLUTIONS).having(subject=ANY_SIZE))


@points(0.5)
def test_operations_of_the_example(run):
    """The schedule of the example has 16 multiplies and 12 adds."""
    assert_all(assert_counts, run(1, CONVOLUTIONS).having(subject=EXAMPLE))


@points(0.5)
def test_operations_of_any_size(run):
    """The schedule has RS multiplies and RS - 1 adds for each output."""
    assert_all(assert_counts, run(1, CONVOLUTIONS).having(subject=ANY_SIZE))


@points(0.5)
def test_own_rows_in_the_example(run):
    """In the example PE(r, e) does all work of kernel row r and ifmap row r + e."""
    assert_all(assert_own_rows, run(1, CONVOLUTIONS).having(subject=EXAMPLE))


@points(1)
def test_own_rows_in_any_size(run):
    """PE(r, e) does all work of kernel row r and ifmap row r + e, and gets psums from below."""
    assert_all(assert_own_rows, run(1, CONVOLUTIONS).having(subject=ANY_SIZE))


@points(0.5)
def test_one_operation_a_cycle_in_the_example(run):
    """In the example an element does at most one operation in each cycle."""
    assert_all(assert_one_operation_a_cycle, run(1, CONVOLUTIONS).having(subject=EXAMPLE))


@points(1)
def test_one_operation_a_cycle_in_any_size(run):
    """An element does at most one operation, multiply or add, in each cycle."""
    assert_all(assert_one_operation_a_cycle, run(1, CONVOLUTIONS).having(subject=ANY_SIZE))


@points(0.5)
def test_operands_exist_in_the_example(run):
    """In the example an operation uses only what was made in an earlier cycle."""
    assert_all(assert_operands_exist, run(1, CONVOLUTIONS).having(subject=EXAMPLE))


@points(1)
def test_operands_exist_in_any_size(run):
    """An operation uses only what was made in an earlier cycle."""
    assert_all(assert_operands_exist, run(1, CONVOLUTIONS).having(subject=ANY_SIZE))


@points(0.5)
def test_values_in_the_example(run):
    """In the example the value of each operation is what its operands make."""
    assert_all(assert_values, run(1, CONVOLUTIONS).having(subject=EXAMPLE))


@points(0.5)
def test_values_in_any_size(run):
    """The value of each operation is the product or the sum of its operands."""
    assert_all(assert_values, run(1, CONVOLUTIONS).having(subject=ANY_SIZE))


@points(1)
def test_outputs_of_the_example_leave_on_time(run):
    """The outputs of the example leave in cycles 4 and 8."""
    assert_all(assert_outputs_leave_on_time, run(1, CONVOLUTIONS).having(subject=EXAMPLE))


@points(1.5)
def test_outputs_of_any_size_leave_on_time(run):
    """Each output leaves in the cycle that the model says, counted from the first one."""
    assert_all(assert_outputs_leave_on_time, run(1, CONVOLUTIONS).having(subject=ANY_SIZE))


@points(0.5)
def test_cycles_count_from_one(run):
    """The first operation is in cycle 1."""
    assert_all(assert_cycles_count_from_one, run(1, CONVOLUTIONS).having(subject=EXAMPLE))


@points(1)
def test_narrow_shapes(run):
    """With one kernel row, one tap, one output row or column, what is right elsewhere is right too.

    What is wrong in all shapes costs the tests that are about it, and nothing here.
    """
    launch = run(1, CONVOLUTIONS)
    others = [launch.having(subject=subject) for subject in (EXAMPLE, ANY_SIZE)]
    held = [check for check in CHECKS if all(holds(check, each) for each in others)]
    if assert_ofmap not in held and assert_counts not in held:
        not_run("in other shapes neither the ofmap nor the number of operations is right")
    for case, outcome in launch.having(subject=NARROW):
        for check in held:
            check(case, outcome)


@points(1)
def test_sequential_cycles_of_the_example(run):
    """sequential_cycles gives 28 for the example: one element does all the operations."""
    for case, outcome in run(1, COUNTS).having(subject=EXAMPLE):
        assert_sequential_cycles(case, outcome)


@points(1)
def test_sequential_cycles_of_any_size(run):
    """sequential_cycles gives the number of operations for any size."""
    for case, outcome in run(1, COUNTS).having(subject=ANY_SIZE):
        assert_sequential_cycles(case, outcome)


def assert_all(check: Check, launch: Launch) -> None:
    """Assert that a check holds for every case; raises what it raises."""
    for case, outcome in launch:
        check(case, outcome)


def holds(check: Check, launch: Launch) -> bool:
    """Return whether a check holds for every case of a launch."""
    return len(launch.holding(check)) == len(launch.selected)
