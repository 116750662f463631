"""Synchronous training: an MPI collective sums the gradients of a step."""

import pytest

from grader.suite.marks import part, points
from grader.suite.timing import assert_time_ratio, same_failures_as
from grader.suite.wording import case_context

from .summing import assert_collectives_carry_gradients, assert_gradients_given_once
from .sync_cases import (
    RANKS,
    SEVERAL_RANKS,
    assert_batches,
    assert_trained_as_one_process,
    cases_by_ranks,
    genuine_cases,
    timing_cases,
)

pytestmark = [part("sync_collective"), pytest.mark.mpi]

FILE = "sync_network_collective.py"
CASES = cases_by_ranks(FILE)


@points(7)
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


@points(4, requires=test_every_rank_ends_as_serial_training_does)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_a_collective_sums_the_gradients(run, ranks):
    """The gradients are summed by an MPI collective, such as Allreduce, in all ranks together."""
    for case, outcome in run(ranks, CASES[ranks]).having(moves_data=True):
        with case_context(case, outcome):
            assert_collectives_carry_gradients(case, outcome)


@points(1, requires=test_a_collective_sums_the_gradients)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_a_step_sends_the_gradients_once(run, ranks):
    """A step gives its gradients to a collective once, and little besides."""
    for case, outcome in run(ranks, CASES[ranks]).having(moves_data=True):
        with case_context(case, outcome):
            assert_gradients_given_once(case, outcome)


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
