"""Hogwild: processes train one model in shared memory, none waits for another."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

from grader.api import (
    Launch,
    NotProven,
    Outcome,
    RuleViolation,
    holds,
    not_run,
    part,
    points,
    stage,
)

from .digits_cases import assert_network_learns
from .hogwild_cases import Hogwild, case_to_the_end, cases, of_real_length, real_size
from .hogwild_checks import (
    Check,
    assert_all_steps_count,
    assert_in_threads,
    assert_loss_falls,
    assert_own_gradients,
    assert_parts_complete,
    assert_parts_disjoint,
    assert_processes,
    assert_serial,
    assert_several_train,
    assert_shared,
    assert_workers,
)
from .sources import Sources, assert_no_solver
from .training_cases import assert_given_model, assert_size
from .waiting_checks import assert_failure_noticed, assert_nobody_waits, assert_same_time

pytestmark = [part("hogwild"), pytest.mark.mpi]

CASES = (*cases(), Sources(file="hogwild.py"))
REAL_SIZE = (real_size(),)
REAL_LENGTH = of_real_length()
RESULT = (assert_parts_disjoint, assert_parts_complete, assert_all_steps_count, assert_loss_falls)
"""What holds for threads as well."""
ALL_BUT_WAITING = (assert_processes, *RESULT, assert_own_gradients, assert_same_time)
IN_REAL_SIZE = (
    *(assert_size, assert_processes, assert_parts_disjoint, assert_parts_complete),
    *(assert_own_gradients, assert_same_time),
)
"""What many processes and few steps of a large model show; simultaneous writes may lose most."""


@points(0.25)
def test_several_workers_train(run):
    """trains in num_processes processes or threads"""
    assert_with_two(run, assert_workers)
    for case, outcome in real_length(run, "digits"):
        assert_network_learns(case, outcome)


@points(0.5, requires=test_several_workers_train)
def test_num_processes_processes_train(run):
    """trains in num_processes processes, not threads"""
    assert_with_two(run, assert_processes)
    assert_several_train_a_large_model(run)


@points(0.5)
def test_one_process_is_serial_sgd(run):
    """equals plain SGD with one process"""
    for case, outcome in run(1, CASES).having(subject="training").having(num_processes=1):
        assert_serial(case, outcome)


@points(0.5, requires=test_several_workers_train)
def test_parts_are_disjoint(run):
    """gives each process its own, disjoint part of the data"""
    assert_with_two(run, assert_parts_disjoint)
    assert_several_train_a_large_model(run)


@points(0.25, requires=test_several_workers_train)
def test_parts_are_complete(run):
    """trains on every example once per epoch, across processes"""
    assert_with_two(run, assert_parts_complete)


@points(0.25, requires=test_several_workers_train)
def test_every_step_is_in_the_result(run):
    """returns the start weights plus the steps of all processes"""
    assert_with_two(run, assert_all_steps_count)


@points(0.25, requires=test_several_workers_train)
def test_the_loss_falls_as_under_sgd(run):
    """lowers the loss at least 75% as much as plain SGD"""
    assert_with_two(run, assert_loss_falls)


@points(0.75, requires=test_num_processes_processes_train)
def test_weights_are_in_shared_memory(run):
    """updates one set of weights, in shared memory"""
    assert_with_two(run, shared(run))
    assert_right_in_real_length(run)


@points(0.5, requires=test_weights_are_in_shared_memory)
def test_gradients_are_each_process_own(run):
    """keeps each process's gradients in its own memory"""
    assert_with_two(run, assert_own_gradients)
    assert_with_two(run, assert_same_time)


@points(1.5, requires=(test_weights_are_in_shared_memory, test_every_step_is_in_the_result))
def test_processes_train_at_the_same_time(run):
    """starts all processes before it waits for one"""
    assert_with_two(run, assert_same_time)
    assert_several_train_a_large_model(run)


# Two readers pay 86 to 94 % of a part whose processes wait for each other, two others 28 to 66 %.
# The processes that it is about tell it themselves, so it costs no more than a remark.
@points(1, requires=test_weights_are_in_shared_memory)
def test_no_process_waits_for_another(run):
    """holds no lock and waits for no process while it trains"""
    assert_with_two(run, assert_nobody_waits(names_of(run(1, CASES))))


@points(1.75, requires=test_num_processes_processes_train)
def test_more_processes(run):
    """also works with 3 processes"""
    for case, outcome in run(1, CASES).having(subject="training").having(num_processes=3):
        for check in (*ALL_BUT_WAITING, shared(run)):
            check(case, outcome)
    assert_right_in_real_length(run)
    if is_right_with_small_models(run):
        for case, outcome in run(1, REAL_SIZE):
            for check in IN_REAL_SIZE:
                check(case.as_drawn(outcome), outcome)


# Four readers pay 40 to 43 % where one process after the other trains.
@points(1, requires=test_num_processes_processes_train)
def test_a_failed_process_is_noticed(run):
    """raises an exception when one of several processes fails"""
    assert_with_two(run, assert_same_time)
    for case, outcome in run(1, CASES).having(subject="failure"):
        assert_failure_noticed(case, outcome)


# Readers pay 90 % where the call returns something else.
@points(0.5, requires=test_several_workers_train)
def test_the_given_model_is_trained_and_returned(run):
    """trains and returns the given model"""
    assert_with_two(run, lambda case, outcome: assert_given_model(case, outcome, "hogwild"))


@points(0.5, requires=test_several_workers_train)
def test_no_other_solver(run):
    """imports no model-training package other than torch"""
    assert_no_solver(run(1, CASES))


@stage(5)
def test_threads_train_one_model(run):
    """trains one model, in threads"""
    for check in (assert_in_threads, *RESULT):
        assert_with_two(run, check)


@stage(4)
def test_processes_train_before_hogwild_fails(run):
    """trains correctly in processes until it fails or hangs"""
    two = run(1, CASES).having(subject="training").having(num_processes=2)
    if all(isinstance(answer, Outcome) for _, answer in two.answers()):
        not_run("hogwild returned")
    for case, outcome in run(1, (case_to_the_end(),)):
        for check in (assert_same_time, *RESULT, assert_shared):
            check(case, outcome)


def assert_with_two(run, check: Check) -> None:
    """Assert a check for the training in two processes; raises what it raises."""
    for case, outcome in run(1, CASES).having(subject="training").having(num_processes=2):
        check(case, outcome)


def assert_several_train_a_large_model(run) -> None:
    """Assert that several processes train a model as large as Net, where small ones are right.

    One that cannot be trained costs where more processes do.
    """
    if is_right_with_small_models(run):
        for case, answer in run(1, REAL_SIZE).answers():
            if isinstance(answer, Outcome) and holds(assert_size, case, answer):
                assert_several_train(case.as_drawn(answer), answer)


def real_length(run, subject: str) -> Iterable[tuple[Any, Outcome]]:
    """Return a case like a run of main.py; none unless small trainings are right."""
    is_right = is_right_with_small_models(run)
    return run(1, REAL_LENGTH).having(subject=subject).ended_in_time() if is_right else ()


def assert_right_in_real_length(run) -> None:
    """Assert that a training of many batches is right, where the short ones are."""
    for case, outcome in real_length(run, "length"):
        for check in (*RESULT, shared(run), assert_own_gradients):
            check(case.as_drawn(outcome), outcome)


def is_right_with_small_models(run) -> bool:
    """Return whether two processes and three train small models as they should."""
    several = run(1, CASES).having(subject="training")
    answers = [each for n in (2, 3) for each in several.having(num_processes=n).answers()]
    checks = (*ALL_BUT_WAITING, shared(run))
    return len(answers) == 2 and all(
        isinstance(answer, Outcome) and _is_right(check, case, answer)
        for case, answer in answers
        for check in checks
    )


def _is_right(check: Check, case: Hogwild, outcome: Outcome) -> bool:
    try:
        return holds(check, case, outcome)
    except (NotProven, RuleViolation):
        return False


def shared(run) -> Check:
    """Return the check of shared weights, which asks more where one process takes SGD's steps."""
    one = run(1, CASES).having(subject="training").having(num_processes=1).answers()
    is_sgd = all(
        isinstance(each, Outcome) and holds(assert_serial, case, each) for case, each in one
    )
    return partial(assert_shared, is_sgd=is_sgd)


def names_of(launch: Launch) -> str:
    """Return the names of locks that the files handed in use."""
    return "".join(
        text for _, outcome in launch.having(probe="read_sources") for text in outcome["names"]
    )
