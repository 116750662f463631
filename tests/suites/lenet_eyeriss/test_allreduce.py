"""All-reduce of the gradients by any means: every process ends with their mean."""

import pytest

from grader.suite.marks import part, points
from grader.suite.wording import case_context

from .gradient_traffic import assert_every_rank_contributes
from .training_cases import OTHER_RANKS, RANKS, SEVERAL_RANKS, SHEETS_RANKS, cases_by_ranks
from .training_checks import (
    assert_mean_to_rounding,
    assert_replicas_equal,
    assert_trained_as_one,
)

pytestmark = [part("allreduce"), pytest.mark.mpi]

CASES = cases_by_ranks("allreduce.py")


@points(2)
@pytest.mark.parametrize("ranks", SHEETS_RANKS)
def test_four_processes_train_as_one(run, ranks):
    """4 processes with 25 images each go the way of one process with all 100, epoch by epoch."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained_as_one(case, outcome)


@points(1)
@pytest.mark.parametrize("ranks", OTHER_RANKS)
def test_any_number_of_processes_trains_as_one(run, ranks):
    """So do 1, 2, 5 and 8 processes: the number is asked for, not assumed."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained_as_one(case, outcome)


@points(0.5, requires=test_four_processes_train_as_one)
@pytest.mark.parametrize("ranks", RANKS)
def test_gradients_become_their_mean(run, ranks):
    """Each gradient becomes the mean over all processes, exact but for rounding in float32."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_mean_to_rounding(case, outcome)


@points(0.5, requires=test_four_processes_train_as_one)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_all_processes_hold_the_very_same_parameters(run, ranks):
    """After every epoch the parameters are the same on all processes, to the last bit."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_replicas_equal(case, outcome)


@points(1, requires=test_four_processes_train_as_one)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_gradients_travel_by_torch_distributed(run, ranks):
    """Every process hands its gradients to the others by operations of torch.distributed."""
    for case, outcome in run(ranks, CASES[ranks]):
        with case_context(case, outcome):
            assert_every_rank_contributes(outcome.trace, case.epochs)
