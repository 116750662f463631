"""Centralized training: given, and worth no points; it is what the others are compared with."""

import pytest

from grader.api import part, points

from .answered import Run
from .sgd_cases import StepChecks
from .training_cases import Training

pytestmark = [part("centralized")]

CASES = (Training("train", file="cent_sgd.py", num_training=100),)


@pytest.fixture(scope="module")
def checks() -> StepChecks:
    """Return what is asked of a run."""
    return StepChecks(has_server=False)


@points(0)
def test_model_is_that_of_sgd(run: Run, checks: StepChecks) -> None:
    """trains `model` with SGD for 3 epochs"""
    for case, outcome in run(1, CASES):
        for check in (checks.epochs, checks.divided, checks.every_parameter, checks.sgd):
            check(case, outcome)
        checks.model_kept(case, outcome)


@points(0)
def test_every_example_is_seen_once_an_epoch(run: Run, checks: StepChecks) -> None:
    """uses every example once per epoch, in batches of 100"""
    for case, outcome in run(1, CASES):
        for check in (checks.slice_sizes, checks.whole_batches, checks.epochs):
            check(case, outcome)
