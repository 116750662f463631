"""Gradients averaged by DistributedDataParallel, within backward."""

from functools import partial

import pytest

from grader.api import part, points, stage

from .addresses import joining
from .batches import (
    assert_nothing_left,
    assert_steps_use_all_batches,
    assert_steps_with_mean_of_batches,
)
from .checks import assert_all_hold, assert_replicas_equal
from .later import assert_holds_later
from .proof import (
    assert_reduced_in_buckets,
    assert_steps_come_from_backward,
)
from .rules import (
    assert_gradients_only_by,
    assert_reduced_once,
    assert_through_ddp,
    assert_wrapped,
)
from .shared_tests import assert_trained_at_once, assert_trained_in_turns, shared_tests
from .stages import assert_helped
from .train_cases import cases_by_ranks, epoch_of
from .wide import assert_averaged_when_wide

pytestmark = [part("ddp"), pytest.mark.mpi]

CASES = cases_by_ranks("part3/main.py", how="ddp")
SHARED = shared_tests(CASES, of_own=assert_nothing_left, of_mean=assert_steps_with_mean_of_batches)
run = joining(CASES[4])

test_ranks_start_equal = points(1)(SHARED.test_ranks_start_equal)
test_first_batches_are_different = points(1.5)(SHARED.test_first_batches_are_different)


@points(2.75)
def test_model_is_wrapped(run):
    """trains a model inside DistributedDataParallel"""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_wrapped)
    assert_reduced_in_buckets(run, CASES[4])
    assert_holds_later(run(4, CASES[4]), assert_wrapped)


@points(1, requires=test_model_is_wrapped)
def test_wrapped_model_is_called(run):
    """calls the wrapped model on every training batch"""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_through_ddp)
    assert_holds_later(run(4, CASES[4]), assert_through_ddp)


@points(1, requires=test_wrapped_model_is_called)
def test_step_uses_all_gradients(run):
    """uses all ranks' gradients equally in each step"""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_steps_use_all_batches)
    assert_steps_come_from_backward(run, CASES[4])
    assert_holds_later(run(4, CASES[4]), assert_replicas_equal)
    assert_trained_at_once(run, CASES)
    assert_averaged_when_wide(run(4, CASES[4]))


averaged = partial(points, requires=test_step_uses_all_gradients)
test_replicas_stay_equal = averaged(0.75)(SHARED.test_replicas_stay_equal)
test_examples_are_shared_out = averaged(1)(SHARED.test_examples_are_shared_out)
test_batches_have_256_examples_in_all = averaged(3.75)(SHARED.test_batches_have_256_examples_in_all)


@averaged(1)
def test_gradients_are_zeroed(run):
    """zeroes the gradients between steps"""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_nothing_left)


test_step_uses_the_mean = points(1.25, requires=test_gradients_are_zeroed)(
    SHARED.test_step_uses_the_mean
)
test_each_step_is_sgd = averaged(1.5)(SHARED.test_each_step_is_sgd)


@averaged(4)
def test_nothing_else_sends(run):
    """sends nothing else in backward, or between it and the step"""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_silent, assert_reduced_once)
    assert_holds_later(run(4, CASES[4]), assert_silent)


def assert_silent(case, outcome):
    """Assert that no operation of torch.distributed is called between backward and step."""
    assert_gradients_only_by(case, outcome, set(), words="none between backward and step")


test_program_comes_to_its_end = averaged(0.5)(SHARED.test_program_comes_to_its_end)
test_training_is_one_epoch = points(0.75, requires=test_program_comes_to_its_end)(
    SHARED.test_training_is_one_epoch
)
test_two_ranks = points(1.25, requires=test_step_uses_the_mean)(SHARED.test_two_ranks)
test_one_rank = points(0.75, requires=test_step_uses_the_mean)(SHARED.test_one_rank)
test_program_takes_its_time_for_training_only = points(1.25, requires=test_step_uses_the_mean)(
    SHARED.test_program_takes_its_time_for_training_only
)
test_options_are_spelt_as_in_the_handout = points(0)(
    SHARED.test_options_are_spelt_as_in_the_handout
)
test_folders_are_created = points(0)(SHARED.test_folders_are_created)


@stage(15.5)
def test_ranks_take_turns(run):
    """trains correctly, but on one rank at a time"""
    assert_trained_in_turns(run, CASES, assert_steps_with_mean_of_batches)
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_wrapped, assert_through_ddp)
    assert_reduced_in_buckets(run, CASES[4])
    assert_steps_come_from_backward(run, CASES[4])


@stage(8)
def test_averages_once_it_has_begun(run):
    """trains correctly once the grader helps it to start"""
    assert_helped(run, 4, CASES[4], assert_through_ddp, assert_steps_with_mean_of_batches)
