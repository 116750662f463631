"""A row-stationary convolution: its result, and what each element does in each cycle."""

from collections.abc import Callable

import pytest

from grader.api import Launch, Outcome, part, points, stage

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
    assert_times,
    assert_values,
    does_its_own,
    told_size,
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
def test_own_rows_in_the_example(run):
    """assigns each PE the work of its own rows (example's size)"""
    assert_all(assert_own_rows, run(1, CONVOLUTIONS).having(subject=EXAMPLE))


@points(0.75)
def test_own_rows_in_any_size(run):
    """assigns each PE the work of its own rows (other sizes)"""
    assert_all(assert_own_rows, run(1, CONVOLUTIONS).having(subject=ANY_SIZE))


@points(0.5)
def test_operands_exist_in_the_example(run):
    """uses no operand before it exists (example's size)"""
    assert_all(assert_operands_exist, run(1, CONVOLUTIONS).having(subject=EXAMPLE))


@points(1)
def test_operands_exist_in_any_size(run):
    """uses no operand before it exists (other sizes)"""
    assert_all(assert_operands_exist, run(1, CONVOLUTIONS).having(subject=ANY_SIZE))


@points(0.75)
def test_values_in_the_example(run):
    """reports the correct value of each operation (example's size)"""
    assert_all(assert_values, run(1, CONVOLUTIONS).having(subject=EXAMPLE))


@points(0.25)
def test_values_in_any_size(run):
    """reports the correct value of each operation (other sizes)"""
    assert_all(assert_values, run(1, CONVOLUTIONS).having(subject=ANY_SIZE))


@points(1.5)
def test_outputs_of_the_example_leave_on_time(run):
    """completes the outputs on time (example's size)"""
    assert_all(assert_outputs_leave_on_time, run(1, CONVOLUTIONS).having(subject=EXAMPLE))


@points(1.5)
def test_outputs_of_any_size_leave_on_time(run):
    """completes the outputs on time (other sizes)"""
    assert_all(assert_outputs_leave_on_time, run(1, CONVOLUTIONS).having(subject=ANY_SIZE))


# The rest is easy without a schedule, or with one of operations that have no operands: it is paid
# beside a schedule that is at least partly right.
SCHEDULED = (
    test_own_rows_in_the_example,
    test_operands_exist_in_the_example,
    test_values_in_the_example,
    test_outputs_of_the_example_leave_on_time,
)
SCHEDULED_ANY = (
    test_own_rows_in_any_size,
    test_operands_exist_in_any_size,
    test_values_in_any_size,
    test_outputs_of_any_size_leave_on_time,
)


@points(0.25, requires=SCHEDULED)
def test_operations_of_the_example(run):
    """schedules 16 multiplies and 12 adds (example's size)"""
    assert_all(assert_counts, run(1, CONVOLUTIONS).having(subject=EXAMPLE))


@points(0.25, requires=SCHEDULED)
def test_operations_of_any_size(run):
    """has the correct number of multiplies and adds (other sizes)"""
    assert_all(assert_counts, run(1, CONVOLUTIONS).having(subject=ANY_SIZE))


@points(1, requires=SCHEDULED)
def test_one_operation_a_cycle_in_the_example(run):
    """does one operation per PE and cycle (example's size)"""
    assert_all(assert_one_operation_a_cycle, run(1, CONVOLUTIONS).having(subject=EXAMPLE))


@points(1, requires=SCHEDULED)
def test_one_operation_a_cycle_in_any_size(run):
    """does one operation per PE and cycle (other sizes)"""
    assert_all(assert_one_operation_a_cycle, run(1, CONVOLUTIONS).having(subject=ANY_SIZE))


@points(0.5, requires=SCHEDULED)
def test_cycles_count_from_one(run):
    """counts cycles from 1"""
    assert_all(assert_cycles_count_from_one, run(1, CONVOLUTIONS).having(subject=EXAMPLE))


@points(1.75, requires=SCHEDULED)
def test_ofmap_of_the_example(run):
    """computes the ofmap (example's size)"""
    assert_all(assert_ofmap, run(1, CONVOLUTIONS).having(subject=EXAMPLE))


@points(0.5, requires=SCHEDULED)
def test_ofmap_of_any_size(run):
    """computes the ofmap (other sizes)"""
    assert_all(assert_ofmap, run(1, CONVOLUTIONS).having(subject=ANY_SIZE))


@points(0.5, requires=SCHEDULED_ANY)
def test_narrow_shapes(run):
    """handles a single kernel row, tap, output row, or column

    What is wrong in all shapes costs points in the tests about it, not here.
    """
    launch = run(1, CONVOLUTIONS)
    held = [check for check in CHECKS if holds(check, launch.having(subject=ANY_SIZE))]
    for case, outcome in launch.having(subject=NARROW):
        for check in held:
            check(case, outcome)


@points(1.25)
def test_sequential_cycles_of_the_example(run):
    """counts the cycles of a single PE (example's size)"""
    for case, outcome in run(1, COUNTS).having(subject=EXAMPLE):
        assert_sequential_cycles(case, outcome)


@points(0.75)
def test_sequential_cycles_of_any_size(run):
    """counts the cycles of a single PE (other sizes)"""
    for case, outcome in run(1, COUNTS).having(subject=ANY_SIZE):
        assert_sequential_cycles(case, outcome)


@stage(4.5)
def test_every_element_multiplies_what_is_its_own(run):
    """multiplies on each PE's own rows"""
    assert_work_of(run, "multiply")


@stage(6.5)
def test_every_element_adds_what_is_its_own(run):
    """multiplies and adds on each PE's own rows"""
    assert_work_of(run, "multiply", "add")


@stage(5)
def test_times_are_correct(run):
    """has correct times, for operations without operands"""
    for subject in (EXAMPLE, ANY_SIZE):
        assert_all(assert_times, run(1, CONVOLUTIONS).having(subject=subject))
        for case, outcome in run(1, COUNTS).having(subject=subject):
            assert_sequential_cycles(case, outcome)


def assert_work_of(run, *ops):
    """Assert that each element does what is its own of these operations, whatever else it does."""
    for subject in (EXAMPLE, ANY_SIZE):
        for case, outcome in run(1, CONVOLUTIONS).having(subject=subject):
            assert does_its_own(case, outcome, *ops)


def assert_all(check: Check, launch: Launch) -> None:
    """Assert that a check holds for every case; raises what it raises."""
    with told_size(launch):
        for case, outcome in launch:
            check(case, outcome)


def holds(check: Check, launch: Launch) -> bool:
    """Return whether a check holds for every case of a launch."""
    return len(launch.holding(check)) == len(launch.selected)
