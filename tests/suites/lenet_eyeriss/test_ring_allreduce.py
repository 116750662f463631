"""Ring all-reduce of the gradients: reduce-scatter, then all-gather, to one neighbour only."""

import pytest

from grader.judge.functions import (
    BLOCKING_POINT_TO_POINT,
    NONBLOCKING_POINT_TO_POINT,
    TORCH_BARRIERS,
)
from grader.judge.traffic import (
    assert_one_neighbour,
    assert_only_nonblocking,
    assert_only_operations,
    assert_only_point_to_point,
    assert_requests_completed,
)
from grader.suite.marks import part, points
from grader.suite.wording import case_context

from .gradient_traffic import assert_ring_share
from .training_cases import OTHER_RANKS, RANKS, SEVERAL_RANKS, SHEETS_RANKS, cases_by_ranks
from .training_checks import (
    assert_mean_to_rounding,
    assert_replicas_equal,
    assert_trained_as_one,
)

pytestmark = [part("ring_allreduce"), pytest.mark.mpi]

CASES = cases_by_ranks("ring_allreduce.py")


@points(1)
@pytest.mark.parametrize("ranks", SHEETS_RANKS)
def test_four_processes_train_as_one(run, ranks):
    """4 processes with 25 images each go the way of one process with all 100, epoch by epoch."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained_as_one(case, outcome)


@points(0.5)
@pytest.mark.parametrize("ranks", OTHER_RANKS)
def test_any_number_of_processes_trains_as_one(run, ranks):
    """So do 1, 2, 5 and 8 processes, whether or not the chunks are of equal length."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained_as_one(case, outcome)


@points(0.5, requires=test_four_processes_train_as_one)
@pytest.mark.parametrize("ranks", RANKS)
def test_ring_agrees_with_process_0s_mean(run, ranks):
    """The ring's gradients are the mean that process 0 would compute, but for float32 rounding."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_mean_to_rounding(case, outcome)


@points(0.5, requires=test_four_processes_train_as_one)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_all_processes_hold_the_very_same_parameters(run, ranks):
    """After every epoch the parameters are the same on all processes, to the last bit."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_replicas_equal(case, outcome)


# A barrier carries nothing: it breaks the rule, but not the ring, and costs only what comes here.
@points(0.25, requires=test_four_processes_train_as_one)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_no_collective_is_called(run, ranks):
    """There is no collective of any kind, not even a barrier."""
    for case, outcome in run(ranks, CASES[ranks]):
        with case_context(case, outcome):
            assert_only_point_to_point(outcome.trace)


@points(0.25, requires=test_four_processes_train_as_one)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_only_point_to_point_calls_carry_data(run, ranks):
    """Point-to-point messages alone do the work: no all_reduce, broadcast or the like."""
    for case, outcome in run(ranks, CASES[ranks]):
        with case_context(case, outcome):
            assert_only_operations(
                outcome.trace,
                allowed=BLOCKING_POINT_TO_POINT | NONBLOCKING_POINT_TO_POINT,
                words="point-to-point calls only",
            )


@points(0.5, requires=test_only_point_to_point_calls_carry_data)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_every_process_sends_to_one_neighbour(run, ranks):
    """Each process sends only to its next neighbour and receives only from the other one."""
    for case, outcome in run(ranks, CASES[ranks]):
        with case_context(case, outcome):
            assert_one_neighbour(outcome.trace)


@points(0.5, requires=test_only_point_to_point_calls_carry_data)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_every_process_sends_no_more_than_a_ring_needs(run, ranks):
    """Each of n processes sends 2 (n-1)/n of the gradients an epoch (padded chunks allowed)."""
    for case, outcome in run(ranks, CASES[ranks]):
        with case_context(case, outcome):
            assert_ring_share(outcome.trace, case.epochs)


@points(0.5, requires=test_only_point_to_point_calls_carry_data)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_calls_do_not_block(run, ranks):
    """Messages are sent and received by isend and irecv; only waiting for them may block."""
    for case, outcome in run(ranks, CASES[ranks]):
        with case_context(case, outcome):
            assert_only_nonblocking(outcome.trace, also=TORCH_BARRIERS)


@points(0.5, requires=test_only_point_to_point_calls_carry_data)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_every_request_is_completed(run, ranks):
    """Everything that isend and irecv returned has been waited for when the call returns."""
    for case, outcome in run(ranks, CASES[ranks]):
        with case_context(case, outcome):
            assert_requests_completed(outcome.trace)
