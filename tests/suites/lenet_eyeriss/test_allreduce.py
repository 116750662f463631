"""All-reduce of the gradients by any means: every rank ends with their mean."""

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
    """Assert that what came to another rank was handed over by torch.distributed."""
    receivers = complete_ranks(outcome)
    givers = {rank for rank in range(outcome.ranks) if receivers - {rank}}
    with case_context(case, outcome):
        assert_contributes(outcome.trace, givers, num_epochs(outcome))


@points(0)
def test_gradients_travel_by_torch_distributed(run):
    """sends the gradients by torch.distributed"""
    answers = where_few_hold(run, CASES, one_rank_is_complete)
    for case, outcome in answers:
        assert_travels(case, outcome)
    assert_sums_come_from_payloads(run, answers)


@points(1, requires=test_gradients_travel_by_torch_distributed)
def test_one_process_gets_all_gradients(run):
    """sums every rank's gradients on at least one rank"""
    assert_on_few(run, CASES, one_rank_is_complete)


@points(1, requires=test_one_process_gets_all_gradients)
def test_every_process_gets_all_gradients(run):
    """sums every rank's gradients on every rank"""
    assert_on_few(run, CASES, assert_nearly_all_in_every_epoch)


@points(0.5, requires=test_one_process_gets_all_gradients)
def test_sum_is_divided(run):
    """divides the sum by the number of ranks"""
    assert_on_few(run, CASES, assert_divided)


@points(0.75)
@pytest.mark.parametrize("ranks", [SHEETS_RANKS])
def test_four_processes_train_as_one(run, ranks):
    """trains like one process on 4 ranks"""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained_as_one(case, outcome)
        assert_travels(case, outcome)
        assert_sums_come_from_payloads(run, [(case, outcome)])


@points(0.5, requires=test_one_process_gets_all_gradients)
@pytest.mark.parametrize("ranks", OTHER_RANKS)
def test_any_number_of_processes_trains_as_one(run, ranks):
    """trains like one process on 2, 3 and 8 ranks"""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained_as_one(case, outcome)


@points(0.25, requires=test_one_process_gets_all_gradients)
@pytest.mark.parametrize("ranks", [1])
def test_one_process_trains_alone(run, ranks):
    """works on a single rank"""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained_as_one(case, outcome)


@points(0.5, requires=test_one_process_gets_all_gradients)
def test_mean_is_exact_but_for_rounding(run):
    """computes the mean to within float32 rounding"""
    what = "trains like one process"
    for case, outcome in where_several_hold(run, CASES, assert_trained_as_one, what):
        assert_mean_to_rounding(case, outcome)


@points(0.5, requires=test_one_process_gets_all_gradients)
def test_all_processes_hold_the_very_same_parameters(run):
    """keeps the parameters identical on all ranks"""
    what = "sums every rank's gradients on every rank"
    for case, outcome in where_several_hold(run, CASES, assert_nearly_all_in_every_epoch, what):
        assert_replicas_equal(case, outcome)
