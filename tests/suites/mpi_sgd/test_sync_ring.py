"""Synchronous training: the student's own ring all-reduce sums the gradients of a step."""

import pytest

from grader.judge.traffic import assert_one_neighbour, assert_only_point_to_point
from grader.suite.marks import part, points
from grader.suite.timing import assert_time_ratio, same_failures_as
from grader.suite.wording import case_context

from .summing import assert_ring_traffic
from .sync_cases import (
    ALTERED_RANKS,
    RANKS,
    SEVERAL_RANKS,
    assert_batches,
    assert_gradients_come_from_messages,
    assert_trained_as_one_process,
    cases_by_ranks,
    genuine_cases,
    timing_cases,
)

pytestmark = [part("sync_ring"), pytest.mark.mpi]

FILE = "sync_network.py"
CASES = cases_by_ranks(FILE)


@points(6)
@pytest.mark.parametrize("ranks", RANKS)
def test_every_rank_ends_as_serial_training_does(run, ranks):
    """Every rank ends with the weights and biases of serial training on all ranks' batches."""
    for case, outcome in run(ranks, CASES[ranks]).having(purpose="values", synchronous_sends=False):
        assert_trained_as_one_process(case, outcome)


@points(1)
@pytest.mark.parametrize("ranks", RANKS)
def test_batches_are_shared_out(run, ranks):
    """Each rank trains on number_of_batches batches of mini_batch_size // size rows an epoch."""
    for case, outcome in run(ranks, CASES[ranks]).having(purpose="values", synchronous_sends=False):
        assert_batches(case, outcome)


@points(1, requires=test_every_rank_ends_as_serial_training_does)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_works_when_no_message_is_buffered(run, ranks):
    """Training is right even if every send has to wait until its receive is posted."""
    for case, outcome in run(ranks, CASES[ranks]).having(synchronous_sends=True):
        assert_trained_as_one_process(case, outcome)


@points(3, requires=test_every_rank_ends_as_serial_training_does)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_only_point_to_point_calls_carry_data(run, ranks):
    """Point-to-point messages alone sum the gradients: no Allreduce, Bcast or other collective."""
    for case, outcome in run(ranks, CASES[ranks]).having(moves_data=True):
        with case_context(case, outcome):
            assert_only_point_to_point(outcome.trace)
    if ranks == ALTERED_RANKS:
        assert_gradients_come_from_messages(run, CASES)


@points(2, requires=test_only_point_to_point_calls_carry_data, own="ring_allreduce")
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_gradients_travel_around_a_ring(run, ranks):
    """A fit sends what ring all-reduces of its gradients send, to one neighbour."""
    for case, outcome in run(ranks, CASES[ranks]).having(moves_data=True):
        with case_context(case, outcome):
            assert_one_neighbour(outcome.trace)
            assert_ring_traffic(case, outcome)


@points(1, requires=test_every_rank_ends_as_serial_training_does)
def test_works_as_a_program_of_its_own(run):
    """With the real MPI.Init and MPI.Finalize, 3 ranks train as they did before."""
    for case, outcome in run(3, genuine_cases(FILE), genuine=True):
        assert_trained_as_one_process(case, outcome)


@points(1, requires=test_every_rank_ends_as_serial_training_does)
def test_keeps_up_with_serial_training(run):
    """On 2 ranks a fit takes no more than a small multiple of the time of serial training."""
    assert_time_ratio(
        lambda attempt: run(2, timing_cases(FILE, attempt) if attempt else CASES[2]),
        check=same_failures_as(run(2, CASES[2]), assert_batches, assert_trained_as_one_process),
        factor=15,
        what="a fit on 2 ranks, 12 batches on layers 784-128-64-10,",
        yardstick="serial training on the same batches",
    )
