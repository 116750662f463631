"""All-reduce of the gradients by any means: every process ends with their mean."""

from functools import partial

import pytest

from grader.api import Outcome, case_context, part, points

from .gradient_traffic import assert_contributes
from .over_ranks import assert_on_few, where_few_hold, where_several_hold
from .proof import assert_sums_come_from_payloads
from .shares import num_epochs
from .sum_checks import (
    NEARLY_ALL,
    assert_complete,
    assert_divided,
    assert_nearly_all_in_every_epoch,
    complete_ranks,
)
from .training_cases import (
    OTHER_RANKS,
    SEVERAL_RANKS,
    SHEETS_RANKS,
    Training,
    allreduce_cases,
)
from .training_checks import (
    assert_mean_to_rounding,
    assert_replicas_equal,
    assert_trained_as_one,
)

pytestmark = [part("allreduce"), pytest.mark.mpi]

CASES = {ranks: allreduce_cases(ranks) for ranks in [1, *SEVERAL_RANKS]}
one_rank_is_complete = partial(assert_complete, at_least=NEARLY_ALL, on_every_rank=False)


def assert_travels(case: Training, outcome: Outcome) -> None:
    """Assert that what came to another process was handed over by torch.distributed."""
    receivers = complete_ranks(outcome)
    givers = {rank for rank in range(outcome.ranks) if receivers - {rank}}
    with case_context(case, outcome):
        assert_contributes(outcome.trace, givers, num_epochs(outcome))


@points(0)
def test_gradients_travel_by_torch_distributed(run):
    """Every process hands its gradients to the others by operations of torch.distributed."""
    answers = where_few_hold(run, CASES, one_rank_is_complete)
    for case, outcome in answers:
        assert_travels(case, outcome)
    assert_sums_come_from_payloads(run, answers)


@points(1, requires=test_gradients_travel_by_torch_distributed)
def test_one_process_gets_all_gradients(run):
    """With 3 or 4 processes, at least one ends with the gradients of all, in equal parts."""
    assert_on_few(run, CASES, one_rank_is_complete)


@points(1, requires=test_one_process_gets_all_gradients)
def test_every_process_gets_all_gradients(run):
    """With 3 or 4 processes, every process ends with the gradients of all, in equal parts."""
    assert_on_few(run, CASES, assert_nearly_all_in_every_epoch)


@points(0.5, requires=test_one_process_gets_all_gradients)
def test_sum_is_divided(run):
    """The sum of the gradients is divided by the number of processes."""
    assert_on_few(run, CASES, assert_divided)


@points(0.75)
@pytest.mark.parametrize("ranks", [SHEETS_RANKS])
def test_four_processes_train_as_one(run, ranks):
    """After every epoch, 4 processes with 25 images each hold what one with all 100 does."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained_as_one(case, outcome)
        assert_travels(case, outcome)
        assert_sums_come_from_payloads(run, [(case, outcome)])


@points(0.5, requires=test_one_process_gets_all_gradients)
@pytest.mark.parametrize("ranks", OTHER_RANKS)
def test_any_number_of_processes_trains_as_one(run, ranks):
    """So do 2, 3 and 8 processes: the number is asked for, not assumed."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained_as_one(case, outcome)


@points(0.25, requires=test_one_process_gets_all_gradients)
@pytest.mark.parametrize("ranks", [1])
def test_one_process_trains_alone(run, ranks):
    """One process alone keeps its own gradients, which are the mean."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained_as_one(case, outcome)


@points(0.5, requires=test_one_process_gets_all_gradients)
def test_mean_is_exact_but_for_rounding(run):
    """Each gradient is the mean over all processes, exact but for rounding in float32."""
    what = "the processes train as one"
    for case, outcome in where_several_hold(run, CASES, assert_trained_as_one, what):
        assert_mean_to_rounding(case, outcome)


@points(0.5, requires=test_one_process_gets_all_gradients)
def test_all_processes_hold_the_very_same_parameters(run):
    """After every epoch the parameters are the same on all processes, to the last bit."""
    what = "every process gets all gradients"
    for case, outcome in where_several_hold(run, CASES, assert_nearly_all_in_every_epoch, what):
        assert_replicas_equal(case, outcome)
