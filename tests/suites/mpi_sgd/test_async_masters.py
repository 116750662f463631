"""Asynchronous training: workers compute gradients, masters own the layers and step them.

No two runs have to go the same way. What the workers' forward passes saw tells in which order the
gradients were applied; every step in that order is then computed again and compared.
"""

import pytest

from grader.judge.traffic import assert_only_nonblocking
from grader.suite.marks import part, points
from grader.suite.timing import assert_time_ratio, same_failures_as
from grader.suite.wording import case_context

from .async_cases import (
    ALTERED_RANKS,
    ANY_SHAPE,
    ONE_MASTER,
    TWO_MASTERS,
    assert_batches,
    assert_messages,
    assert_others_went_on,
    assert_process_0_holds_the_result,
    assert_replays,
    assert_trained_as_one_process,
    assert_training_comes_from_messages,
    cases_by_ranks,
    genuine_cases,
    timing_cases,
)

pytestmark = [part("async_masters"), pytest.mark.mpi]

CASES = cases_by_ranks()
SIMPLE = [(2, ONE_MASTER), (3, ONE_MASTER), (3, TWO_MASTERS), (4, ONE_MASTER), (4, TWO_MASTERS)]


@points(5)
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_one_master_applies_every_gradient(run, ranks):
    """A master steps its layers once with each batch's gradients and replies to that worker."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=ONE_MASTER):
        assert_replays(case, outcome)


@points(5)
@pytest.mark.parametrize("ranks", [3, 4])
def test_two_masters_apply_every_gradient(run, ranks):
    """Two masters step their layers once with each batch's gradients and reply to that worker."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=TWO_MASTERS):
        assert_replays(case, outcome)


@points(3)
@pytest.mark.parametrize(("ranks", "group"), SIMPLE)
def test_process_0_ends_with_every_layer(run, ranks, group):
    """At the end process 0 holds the last weights and biases of all masters' layers."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=group):
        assert_process_0_holds_the_result(case, outcome)


@points(2)
@pytest.mark.parametrize(("ranks", "group"), SIMPLE)
def test_workers_share_the_batches(run, ranks, group):
    """The workers together train on number_of_batches batches of mini_batch_size rows an epoch."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=group):
        assert_batches(case, outcome)


@points(3, requires=test_one_master_applies_every_gradient)
@pytest.mark.parametrize(("ranks", "group"), SIMPLE)
def test_only_nonblocking_point_to_point_calls(run, ranks, group):
    """All messages are non-blocking point-to-point calls; only waiting for them may block."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=group):
        with case_context(case, outcome):
            # Many a starter lets fit end with a barrier; it carries no data.
            assert_only_nonblocking(outcome.trace, also={"Barrier"})


@points(2, requires=test_two_masters_apply_every_gradient)
@pytest.mark.parametrize(("ranks", "group"), SIMPLE)
def test_every_layer_belongs_to_one_master(run, ranks, group):
    """A batch's gradients of a layer go to its one master, which sends the new values back."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=group):
        assert_messages(case, outcome)
    if (ranks, group) == (ALTERED_RANKS, TWO_MASTERS):
        assert_training_comes_from_messages(run, CASES)


@points(1, requires=test_one_master_applies_every_gradient)
def test_a_slow_worker_does_not_stop_the_others(run):
    """A master takes the gradients of any worker: while one computes, the others go on."""
    for case, outcome in run(4, CASES[4]).having(purpose="slow worker"):
        assert_others_went_on(case, outcome)
        assert_batches(case, outcome)
        assert_process_0_holds_the_result(case, outcome)


@points(6)
@pytest.mark.parametrize("ranks", [4, 5, 8, 16])
def test_any_number_of_masters_and_workers(run, ranks):
    """Training is right with 1, 2 or 4 masters and batches that do not divide by the workers."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=ANY_SHAPE):
        assert_batches(case, outcome)
        assert_process_0_holds_the_result(case, outcome)


@points(1, requires=test_one_master_applies_every_gradient)
@pytest.mark.parametrize("ranks", [3, 5])
def test_works_when_no_message_is_buffered(run, ranks):
    """Training is right even if every send has to wait until its receive is posted."""
    for case, outcome in run(ranks, CASES[ranks]).having(synchronous_sends=True):
        assert_process_0_holds_the_result(case, outcome)


@points(1, requires=test_two_masters_apply_every_gradient)
def test_works_as_a_program_of_its_own(run):
    """With the real MPI.Init and MPI.Finalize, 2 masters and 2 workers train as they did before."""
    for case, outcome in run(4, genuine_cases(), genuine=True):
        assert_batches(case, outcome)
        assert_process_0_holds_the_result(case, outcome)


@points(1, requires=test_one_master_applies_every_gradient)
def test_keeps_up_with_serial_training(run):
    """With 1 master and 1 worker a fit takes no more than a small multiple of serial training."""
    assert_time_ratio(
        lambda attempt: run(2, timing_cases(attempt) if attempt else CASES[2]),
        check=same_failures_as(run(2, CASES[2]), assert_batches, assert_trained_as_one_process),
        factor=15,
        what="a fit on 2 ranks, 12 batches on layers 784-128-64-10,",
        yardstick="serial training on the same batches",
    )
