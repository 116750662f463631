"""Stages: what is given to an operation counts, whatever becomes of it."""

from dataclasses import replace

import numpy as np
import pytest
from vgg_ddp import stages

from grader.grading_plugin.launch_results import make_launch
from grader.judge.check_failures import WrongAnswer
from grader.model.report import RunFailure, Verdict

from .trainings import EPOCH, outcome, right, spread

FIRST = replace(EPOCH, extent="first batch")
CASES = (FIRST, EPOCH)
CRASH = RunFailure(Verdict.RUN_TIME_ERROR, "raised ValueError")


def running(results, first=None):
    """Return a `run` that answers every case with these results; first: of the first batch."""

    def run(ranks, cases):
        seen = outcome(EPOCH, results)
        answers = [first if first and case is FIRST else seen for case in cases]
        return make_launch(cases, answers, ranks)

    return run


def given(*silent, change=lambda gradient: gradient, batch_size=64):
    """Return results of four ranks; the silent ones gave nothing away."""
    results = right(4, batch_size=batch_size)
    for rank, each in enumerate(results):
        vector = change(each["local"][0])
        row = [0, 0, 0, 0, 0] if rank in silent else spread(vector)
        each["given"] = np.array([[0, *row[1:]]])
    return results


def test_all_ranks_give_their_gradients():
    stages.assert_all_give_gradients(running(given()), CASES)
    stages.assert_most_give_gradients(running(given(0)), CASES)


@pytest.mark.parametrize(
    ("stage", "results"),
    [
        (stages.assert_all_give_gradients, given(0)),
        (stages.assert_all_give_gradients, given(batch_size=32)),
        (stages.assert_most_give_gradients, given(0, 3)),
        (stages.assert_most_give_gradients, given(change=np.zeros_like)),
        (stages.assert_most_give_gradients, given(change=np.ones_like)),
    ],
)
def test_too_few_ranks_or_no_gradients_are_no_stage(stage, results):
    """Nor are batches of another size, where all ranks are asked for."""
    with pytest.raises(WrongAnswer):
        stage(running(results), CASES)


def test_a_gradient_of_no_batch_is_none():
    """Whatever a rank gives away: it has to be what the network's batch leads to."""
    results = given()
    for each in results:
        each["local"] = each["local"][:, ::-1].copy()
    with pytest.raises(WrongAnswer):
        stages.assert_most_give_gradients(running(results), CASES)


def test_help_is_for_programs_that_do_not_begin():
    """One that comes to its first batch needs none; one that hangs is not helped."""
    checks = []
    look = lambda case, seen: checks.append((case.is_helped, case.call))  # noqa: E731
    for first in (None, RunFailure(Verdict.TIME_LIMIT_EXCEEDED, "too long")):
        with pytest.raises(pytest.skip.Exception):
            stages.assert_helped(running(given(), first), 4, CASES, look)
    stages.assert_helped(running(given(), CRASH), 4, CASES, look)
    assert checks == [(True, "helped")]


def test_without_a_batch_nothing_is_given():
    with pytest.raises(pytest.skip.Exception):
        stages.assert_all_give_gradients(running(given(), CRASH), CASES)


def test_steps_by_some_parameters_gradients_are_the_lower_stage():
    """Whoever comes to a step without the rest never gives it."""
    results = given()
    for each in results:
        each["given"] = np.array([[9, *spread(each["local"][0][:9])[1:]]])
    with pytest.raises(WrongAnswer, match=r"passed 9 numbers to all_reduce; its gradient has \d+"):
        stages.assert_all_give_gradients(running(results), CASES)
    stages.assert_most_give_gradients(running(results), CASES)
