"""Gradients averaged on rank 0, by messages."""

import pytest

from grader.api import assert_only_operations, assert_requests_completed, case_context, part, points

from .batches import assert_own_gradients
from .checks import (
    assert_all_hold,
    assert_holds_as_well,
    assert_replicas_equal,
    assert_sgd_steps,
    assert_starts_equal,
    assert_steps_use_all,
    assert_steps_with_mean,
    require,
)
from .examples import assert_batch_sizes, assert_one_epoch, assert_shared_out
from .exchange import assert_gradients_sent, assert_num_elements, assert_something_sent
from .proof import assert_steps_come_from_payloads
from .rules import assert_messages_by_rank_0, assert_not_through_ddp, assert_plain
from .train_cases import cases_by_ranks, epoch_of, first_batch_of

pytestmark = [part("isend_irecv"), pytest.mark.mpi]

CASES = cases_by_ranks("part2a/main_isend.py", exchange="isend")
OF_VALUES = (
    assert_replicas_equal,
    assert_shared_out,
    assert_batch_sizes,
    assert_own_gradients,
    assert_sgd_steps,
    assert_steps_with_mean,
)


@points(0)
def test_ranks_start_equal(run):
    """starts all ranks with the same parameters"""
    assert_all_hold(first_batch_of(run(4, CASES[4])), assert_starts_equal)


@points(0)
def test_first_batches_are_different(run):
    """gives each rank different examples in its first batch"""
    assert_all_hold(first_batch_of(run(4, CASES[4])), assert_shared_out)


@points(0)
def test_gradients_are_sent(run):
    """sends whole gradients by isend from all ranks but 0"""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_gradients_sent)


@points(0)
def test_step_uses_all_gradients(run):
    """steps with all ranks' gradients in equal parts"""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_something_sent, assert_steps_use_all)
    assert_steps_come_from_payloads(run, CASES[4], assert_steps_use_all)


@points(0, requires=test_step_uses_all_gradients)
def test_replicas_stay_equal(run):
    """keeps the parameters of all ranks equal"""
    require(first_batch_of(run(4, CASES[4])), assert_starts_equal, "the ranks do not start equal")
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_replicas_equal)


@points(0, requires=test_step_uses_all_gradients)
def test_examples_are_shared_out(run):
    """uses no example twice in one epoch"""
    require(first_batch_of(run(4, CASES[4])), assert_shared_out, "the first batches overlap")
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_shared_out)


@points(0, requires=test_step_uses_all_gradients)
def test_batches_have_256_examples_in_all(run):
    """trains on batches of 256 examples over all ranks"""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_batch_sizes)


@points(0, requires=test_step_uses_all_gradients)
def test_backward_leaves_the_gradient_of_the_batch(run):
    """leaves the rank's own gradient in .grad after backward"""
    require(
        epoch_of(run(4, CASES[4])), assert_plain, "DistributedDataParallel averages within backward"
    )
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_own_gradients)


@points(0, requires=test_backward_leaves_the_gradient_of_the_batch)
def test_step_uses_the_mean(run):
    """steps with the mean of all ranks' gradients"""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_steps_with_mean)


@points(0, requires=test_step_uses_all_gradients)
def test_each_step_is_sgd(run):
    """uses SGD (lr 0.1, momentum 0.9, weight decay 1e-4)"""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_sgd_steps)


@points(0, requires=test_step_uses_all_gradients)
def test_only_isend_and_irecv(run):
    """averages the gradients by isend and irecv alone"""
    for ranks in (4, 2):
        for case, outcome in epoch_of(run(ranks, CASES[ranks])).holding(assert_something_sent):
            with case_context(case, outcome):
                assert_not_through_ddp(case, outcome)
                assert_only_operations(
                    outcome.trace, allowed={"isend", "irecv"}, words="isend and irecv"
                )
                assert_num_elements(case, outcome, "isend", copies=2 * (ranks - 1))


@points(0)
def test_every_request_is_waited_for(run):
    """waits for every request of isend and irecv"""
    for case, outcome in epoch_of(run(4, CASES[4])):
        with case_context(case, outcome):
            assert_requests_completed(outcome.trace)


@points(0, requires=test_step_uses_all_gradients)
def test_rank_0_takes_the_mean(run):
    """sends every message to rank 0 or from rank 0"""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_messages_by_rank_0)


@points(0, requires=test_step_uses_all_gradients)
def test_program_comes_to_its_end(run):
    """ends by itself, with no rank left waiting"""
    assert_all_hold(run(4, CASES[4]).having(extent="program"))


@points(0, requires=test_program_comes_to_its_end)
def test_training_is_one_epoch(run):
    """trains for exactly one epoch, last batch included"""
    require(epoch_of(run(4, CASES[4])), assert_shared_out, "some examples are used twice")
    assert_all_hold(run(4, CASES[4]).having(extent="program"), assert_one_epoch)


@points(0, requires=test_step_uses_the_mean)
def test_two_ranks(run):
    """also works on 2 ranks"""
    assert_holds_as_well(run(2, CASES[2]), run(4, CASES[4]), OF_VALUES)


@points(0, requires=test_step_uses_the_mean)
def test_one_rank(run):
    """also works on 1 rank"""
    assert_holds_as_well(run(1, CASES[1]), run(4, CASES[4]), OF_VALUES)
