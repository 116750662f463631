"""Hogwild: processes train one model in shared memory, none waits for another."""

import pytest

from grader.suite.marks import part, points

from .hogwild_cases import (
    assert_all_steps_count,
    assert_loss_falls,
    assert_nobody_waits,
    assert_parts,
    assert_processes,
    assert_serial,
    assert_shared,
    cases,
)
from .sources import Sources, assert_no_solver, read

pytestmark = [part("hogwild"), pytest.mark.mpi]

CASES = (Sources(file="hogwild.py"), *cases())


@points(2)
def test_one_process_is_serial_sgd(run):
    """With one process the result is that of plain SGD on the same batches."""
    for case, outcome in run(1, CASES).having(probe="train_hogwild").having(num_processes=1):
        assert_serial(case, outcome)


@points(1)
def test_num_processes_processes_train(run):
    """Really num_processes processes compute gradients, not threads and not one alone."""
    for case, outcome in run(1, CASES).having(probe="train_hogwild"):
        assert_processes(case, outcome)


@points(1)
def test_parts_are_disjoint_and_complete(run):
    """Each process goes through its own part every epoch; the parts together are the dataset."""
    for case, outcome in run(1, CASES).having(probe="train_hogwild"):
        assert_parts(case, outcome)


@points(1)
def test_every_step_is_in_the_result(run):
    """The returned weights are the start weights and the steps of all processes."""
    for case, outcome in run(1, CASES).having(probe="train_hogwild").having(is_parallel=True):
        assert_all_steps_count(case, outcome)


@points(1)
def test_the_loss_falls_as_under_sgd(run):
    """The loss falls at least three quarters as far as plain SGD takes it."""
    for case, outcome in run(1, CASES).having(probe="train_hogwild").having(is_parallel=True):
        assert_loss_falls(case, outcome)


@points(2, requires=test_num_processes_processes_train)
def test_weights_are_in_shared_memory(run):
    """All processes step the same weights, those in the shared memory of the returned model."""
    for case, outcome in run(1, CASES).having(probe="train_hogwild").having(is_parallel=True):
        assert_shared(case, outcome)


@points(1, requires=test_every_step_is_in_the_result)
def test_no_process_waits_for_another(run):
    """All can be in the middle of a step at one moment, and no lock is around training."""
    launch = run(1, CASES)
    ((_, files),) = launch.having(probe="read_sources")
    for case, outcome in launch.having(probe="train_hogwild").having(meets=True):
        assert_nobody_waits(case, outcome, read(files["sources"][0]))


@points(1, requires=test_one_process_is_serial_sgd)
def test_no_other_solver(run):
    """No file handed in imports scikit-learn or another package that trains models."""
    for _, outcome in run(1, CASES).having(probe="read_sources"):
        assert_no_solver(outcome)
