"""Gradients averaged on rank 0, by messages."""

from functools import partial

import pytest

from grader.api import assert_requests_completed, case_context, part, points

from .checks import assert_all_hold, assert_steps_use_all
from .exchange import assert_gradients_sent, assert_num_elements, assert_something_sent
from .later import assert_holds_later, assert_kept_to
from .rules import assert_gradients_only_by, assert_messages_by_rank_0, assert_not_through_ddp
from .shared_tests import shared_tests
from .train_cases import cases_by_ranks, epoch_of

pytestmark = [part("isend_irecv"), pytest.mark.mpi]

CASES = cases_by_ranks("part2a/main_isend.py", exchange="isend")
SHARED = shared_tests(CASES, given=assert_something_sent)

test_ranks_start_equal = points(0)(SHARED.test_ranks_start_equal)
test_first_batches_are_different = points(0)(SHARED.test_first_batches_are_different)


@points(0)
def test_gradients_are_sent(run):
    """sends the whole gradient with isend from all ranks but 0"""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_gradients_sent)
    assert_holds_later(run(4, CASES[4]), assert_gradients_sent, where=assert_steps_use_all)


test_step_uses_all_gradients = points(0)(SHARED.test_step_uses_all_gradients)
averaged = partial(points, requires=test_step_uses_all_gradients)
test_replicas_stay_equal = averaged(0)(SHARED.test_replicas_stay_equal)
test_examples_are_shared_out = averaged(0)(SHARED.test_examples_are_shared_out)
test_batches_have_256_examples_in_all = averaged(0)(SHARED.test_batches_have_256_examples_in_all)
test_backward_leaves_the_gradient_of_the_batch = averaged(0)(
    SHARED.test_backward_leaves_the_gradient_of_the_batch
)
test_step_uses_the_mean = points(0, requires=test_backward_leaves_the_gradient_of_the_batch)(
    SHARED.test_step_uses_the_mean
)
test_each_step_is_sgd = averaged(0)(SHARED.test_each_step_is_sgd)


@averaged(0)
def test_only_isend_and_irecv(run):
    """averages the gradients with isend and irecv alone"""
    assert_kept_to(run, CASES, assert_by_isend_and_irecv, where=assert_something_sent)


def assert_by_isend_and_irecv(case, outcome):
    """Assert that nothing else carries gradients, and that these carry all of them."""
    assert_not_through_ddp(case, outcome)
    assert_gradients_only_by(case, outcome, {"isend", "irecv"}, words="isend and irecv")
    assert_num_elements(case, outcome, "isend", copies=2 * (outcome.ranks - 1))


@points(0)
def test_every_request_is_waited_for(run):
    """waits for every isend and irecv request"""
    for case, outcome in epoch_of(run(4, CASES[4])):
        with case_context(case, outcome):
            assert_requests_completed(outcome.trace)


@averaged(0)
def test_rank_0_takes_the_mean(run):
    """sends messages only to or from rank 0"""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_messages_by_rank_0)


test_program_comes_to_its_end = averaged(0)(SHARED.test_program_comes_to_its_end)
test_training_is_one_epoch = points(0, requires=test_program_comes_to_its_end)(
    SHARED.test_training_is_one_epoch
)
test_two_ranks = points(0, requires=test_step_uses_the_mean)(SHARED.test_two_ranks)
test_one_rank = points(0, requires=test_step_uses_the_mean)(SHARED.test_one_rank)
test_folders_are_created = points(0)(SHARED.test_folders_are_created)
