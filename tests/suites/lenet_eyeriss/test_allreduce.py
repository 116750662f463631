"""All-reduce of the gradients by any means: every rank ends with their mean."""

import pytest

from grader.api import Outcome, case_context, part, points, stage

from .first_steps import assert_begins, begins_with_gradients, gives_gradients
from .gradient_traffic import assert_contributes
from .later_calls import answers_of_many_calls
from .over_ranks import assert_on_few, where_drawn_holds, where_few_hold, where_several_hold
from .proof import assert_sums_come_from_payloads
from .shares import num_all_calls, num_calls
from .sum_checks import (
    assert_all_but_one,
    assert_divided,
    assert_nearly_all_in_every_epoch,
    assert_one_rank_complete,
    givers_of,
    missing_in,
)
from .training_cases import (
    SEVERAL_RANKS,
    SHEETS_RANKS,
    Training,
    allreduce_cases,
    alone_case,
    many_calls_case,
)
from .training_checks import assert_mean_to_rounding, assert_replicas_equal, assert_trained_as_one

pytestmark = [part("allreduce"), pytest.mark.mpi]

CASES = {ranks: allreduce_cases(ranks) for ranks in [1, *SEVERAL_RANKS]}
ALONE = alone_case("allreduce.py")
MANY_CALLS = many_calls_case("allreduce.py")


def assert_finished(case: Training, outcome: Outcome) -> None:
    """Hold for whatever finishes: a sum that is thrown away earns no more than having been sent."""


def assert_travels(case: Training, outcome: Outcome) -> None:
    """Assert that what came to another rank was handed over by torch.distributed."""
    with case_context(case, outcome):
        assert_contributes(outcome.trace, givers_of(outcome), num_calls(outcome))


@points(0)
def test_gradients_travel_by_torch_distributed(run):
    """sends the gradients with torch.distributed"""
    answers = where_few_hold(run, CASES, assert_one_rank_complete)
    for case, outcome in answers:
        assert_travels(case, outcome)
    assert_sums_come_from_payloads(run, where_drawn_holds(run, CASES, assert_one_rank_complete))
    for case, outcome in answers_of_many_calls(run, CASES, MANY_CALLS):
        assert_travels(case, outcome)


@points(1.5, requires=test_gradients_travel_by_torch_distributed)
def test_one_process_gets_all_gradients(run):
    """sums every rank's gradients on at least one rank"""
    assert_on_few(run, CASES, assert_one_rank_complete)


@points(0.5, requires=test_one_process_gets_all_gradients)
def test_every_process_gets_all_gradients(run):
    """sums every rank's gradients on every rank"""
    assert_on_few(run, CASES, assert_nearly_all_in_every_epoch)


@points(0.25, requires=test_one_process_gets_all_gradients)
def test_sum_is_divided(run):
    """divides the sum by the number of ranks"""
    assert_on_few(run, CASES, assert_divided)


@points(0.75)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_any_number_of_processes_trains_as_one(run, ranks):
    """trains like one process on 2, 3, 4, and 8 ranks"""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained_as_one(case, outcome)
        assert_travels(case, outcome)
        if ranks == SHEETS_RANKS:
            assert_sums_come_from_payloads(run, [(case, outcome)])
    if ranks == SHEETS_RANKS:
        for case, outcome in answers_of_many_calls(run, CASES, MANY_CALLS):
            assert_trained_as_one(case, outcome)
            assert_travels(case, outcome)


@points(0.25, requires=test_one_process_gets_all_gradients)
@pytest.mark.parametrize("ranks", [1])
def test_one_process_trains_alone(run, ranks):
    """works on a single rank"""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained_as_one(case, outcome)


@points(1.25, requires=test_one_process_gets_all_gradients)
@pytest.mark.parametrize("ranks", [SHEETS_RANKS])
def test_mean_is_exact_but_for_rounding(run, ranks):
    """computes the mean to within float32 rounding on 4 ranks"""
    later = answers_of_many_calls(run, CASES, MANY_CALLS)
    for case, outcome in [*run(ranks, CASES[ranks]), *later]:
        assert_trained_as_one(case, outcome)
        assert_mean_to_rounding(case, outcome)


@points(0.5, requires=test_one_process_gets_all_gradients)
def test_all_processes_hold_the_very_same_parameters(run):
    """keeps the parameters identical on all ranks"""
    what = "sums every rank's gradients on every rank"
    answers = where_several_hold(run, CASES, assert_nearly_all_in_every_epoch, what)
    for case, outcome in [*answers, *answers_of_many_calls(run, CASES, MANY_CALLS)]:
        assert_replicas_equal(case, outcome)


@stage(2)
def test_all_gradients_but_one_are_summed(run):
    """sums the gradients of all ranks but one on every rank"""
    answers = run(SHEETS_RANKS, CASES[SHEETS_RANKS]).holding(assert_all_but_one)
    assert answers
    for _, outcome in answers:
        ranks = range(outcome.ranks)
        missing = [missing_in(outcome, rank) for rank in ranks]
        givers = {r for r in ranks for other in ranks if r not in (other, missing[other])}
        assert_contributes(outcome.trace, givers, num_calls(outcome))
    assert_sums_come_from_payloads(run, answers)


@stage(1.5)
def test_begins_with_gradients(run):
    """starts to exchange gradients before it hangs or fails"""
    assert_begins(run, CASES, ALONE, assert_finished, begins_with_gradients, gives_gradients)


@stage(0.5)
def test_every_process_hands_over_as_much(run):
    """sends as many numbers as gradients from each of 4 ranks"""
    attempts = run(SHEETS_RANKS, CASES[SHEETS_RANKS]).attempts()
    assert attempts
    for case, attempt in attempts:
        number = case.epochs if attempt.failure else num_all_calls(attempt)
        assert_contributes(attempt.trace, range(attempt.ranks), number)
