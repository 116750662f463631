"""Hogwild: processes train one model in shared memory, none waits for another."""

import pytest

from grader.api import Launch, NotProven, Outcome, RuleViolation, WrongAnswer, part, points

from .hogwild_cases import Hogwild, cases
from .hogwild_checks import (
    Check,
    assert_all_steps_count,
    assert_loss_falls,
    assert_own_gradients,
    assert_parts_complete,
    assert_parts_disjoint,
    assert_processes,
    assert_serial,
    assert_shared,
    assert_workers,
)
from .sources import Sources, assert_no_solver
from .training_cases import assert_given_model
from .waiting_checks import (
    assert_failure_noticed,
    assert_no_lock_and_no_turns,
    assert_nobody_waits_in_a_step,
    assert_same_time,
)

pytestmark = [part("hogwild"), pytest.mark.mpi]

CASES = (*cases(), Sources(file="hogwild.py"))


@points(0.25)
def test_several_workers_train(run):
    """Two processes or threads compute gradients when num_processes is 2."""
    assert_with_two(run, assert_workers)


@points(0.75, requires=test_several_workers_train)
def test_num_processes_processes_train(run):
    """They are processes, not threads, and exactly num_processes."""
    assert_with_two(run, assert_processes)


@points(0.75, requires=test_several_workers_train)
def test_one_process_is_serial_sgd(run):
    """With one process the result is that of plain SGD on the same batches."""
    for case, outcome in run(1, CASES).having(subject="training").having(num_processes=1):
        assert_serial(case, outcome)


@points(0.75, requires=test_several_workers_train)
def test_parts_are_disjoint(run):
    """Each process trains on a part of its own: no example belongs to two of them."""
    assert_with_two(run, assert_parts_disjoint)


@points(0.5, requires=test_several_workers_train)
def test_parts_are_complete(run):
    """Each process goes once an epoch through its part; no example is left out."""
    assert_with_two(run, assert_parts_complete)


@points(0.75, requires=test_several_workers_train)
def test_every_step_is_in_the_result(run):
    """The returned weights are the start weights and the steps of all processes."""
    assert_with_two(run, assert_all_steps_count)


@points(0.25, requires=test_several_workers_train)
def test_the_loss_falls_as_under_sgd(run):
    """Your loss decrease is at least 75 % of plain SGD's."""
    assert_with_two(run, assert_loss_falls)


@points(1.25, requires=test_num_processes_processes_train)
def test_weights_are_in_shared_memory(run):
    """All processes step the same weights, those in the shared memory of the returned model."""
    assert_with_two(run, assert_shared)


@points(0.5, requires=test_weights_are_in_shared_memory)
def test_gradients_are_each_process_own(run):
    """Gradients are not in shared memory: no process overwrites another's."""
    assert_with_two(run, assert_own_gradients)


@points(1.25, requires=test_weights_are_in_shared_memory)
def test_processes_train_at_the_same_time(run):
    """All processes are started before the first has ended, and train at the same time."""
    assert_with_two(run, assert_same_time)


@points(0.75, requires=test_processes_train_at_the_same_time)
def test_no_process_waits_in_its_step(run):
    """One process can be in the middle of a step while the others are too."""
    launch = run(1, CASES)
    assert_with_two(run, assert_nobody_waits_in_a_step(names_of(launch)))


@points(0.5, requires=test_processes_train_at_the_same_time)
def test_no_lock_and_no_turns(run):
    """No lock is held during training, and no process waits between two of its batches."""
    launch = run(1, CASES)
    assert_with_two(run, assert_no_lock_and_no_turns(names_of(launch)))


@points(0.75, requires=test_num_processes_processes_train)
def test_more_processes(run):
    """With 3 processes, all that is right with 2 is right too."""
    launch = run(1, CASES)
    names = names_of(launch)
    two = launch.having(subject="training").having(num_processes=2)
    checks = (
        assert_processes,
        assert_parts_disjoint,
        assert_parts_complete,
        assert_all_steps_count,
        assert_loss_falls,
        assert_shared,
        assert_own_gradients,
        assert_same_time,
        assert_nobody_waits_in_a_step(names),
        assert_no_lock_and_no_turns(names),
    )
    held = [check for check in checks if all(holds(check, *answer) for answer in two)]
    for case, outcome in launch.having(subject="training").having(num_processes=3):
        for check in held:
            check(case, outcome)


@points(0.5, requires=test_num_processes_processes_train)
def test_a_failed_process_is_noticed(run):
    """When a process fails, hogwild raises an exception."""
    for case, outcome in run(1, CASES).having(subject="failure"):
        assert_failure_noticed(case, outcome)


@points(0.25, requires=test_several_workers_train)
def test_the_given_model_is_trained_and_returned(run):
    """The model that is returned is the one that was given."""
    assert_with_two(run, lambda case, outcome: assert_given_model(case, outcome, "hogwild"))


@points(0.25, requires=test_several_workers_train)
def test_no_other_solver(run):
    """Nothing that is handed in imports scikit-learn or another package that trains models."""
    launch = run(1, CASES)
    files = [outcome for _, outcome in launch.having(probe="read_sources")]
    two = launch.having(subject="training").having(num_processes=2)
    assert_no_solver(*files, *(outcome for _, outcome in two))


def assert_with_two(run, check: Check) -> None:
    """Assert a check for the training in two processes; raises what it raises."""
    for case, outcome in run(1, CASES).having(subject="training").having(num_processes=2):
        check(case, outcome)


def holds(check: Check, case: Hogwild, outcome: Outcome) -> bool:
    """Return whether a check holds."""
    try:
        check(case, outcome)
    except (WrongAnswer, RuleViolation, NotProven):
        return False
    return True


def names_of(launch: Launch) -> str:
    """Return the names of locks that the files handed in use."""
    return "".join(
        text for _, outcome in launch.having(probe="read_sources") for text in outcome["names"]
    )
