"""Gradients averaged by all-reduce."""

from functools import partial

import pytest

from grader.api import not_run, part, points, stage

from .addresses import joining
from .checks import assert_all_hold, assert_steps_use_all, assert_steps_with_mean
from .exchange import assert_gradients_given, assert_num_elements, assert_something_given
from .later import assert_holds_later, assert_kept_to
from .partial_means import (
    assert_partly_averaged,
    assert_steps_of_all_but_one_use_mean,
    assert_steps_use_mean_of_part,
)
from .proof import assert_steps_come_from_payloads
from .rules import assert_gradients_only_by, assert_names_of_today, assert_not_through_ddp
from .shared_tests import assert_trained_at_once, assert_trained_in_turns, shared_tests
from .stages import assert_all_give_gradients, assert_helped, assert_most_give_gradients
from .train_cases import cases_by_ranks, epoch_of

pytestmark = [part("allreduce"), pytest.mark.mpi]

CASES = cases_by_ranks("part2b/main.py", how="all_reduce", exchange="all_reduce")
SHARED = shared_tests(CASES)
run = joining(CASES[4])

test_ranks_start_equal = points(1)(SHARED.test_ranks_start_equal)
test_first_batches_are_different = points(1.5)(SHARED.test_first_batches_are_different)


@points(1.5)
def test_gradients_are_reduced(run):
    """passes every rank's whole gradient to all_reduce"""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_gradients_given)
    assert_holds_later(run(4, CASES[4]), assert_gradients_given, where=assert_steps_use_all)


test_step_uses_all_gradients = points(2.5)(SHARED.test_step_uses_all_gradients)
averaged = partial(points, requires=test_step_uses_all_gradients)
test_replicas_stay_equal = averaged(2)(SHARED.test_replicas_stay_equal)
test_examples_are_shared_out = averaged(1.5)(SHARED.test_examples_are_shared_out)
test_batches_have_256_examples_in_all = averaged(1.5)(SHARED.test_batches_have_256_examples_in_all)
test_backward_leaves_the_gradient_of_the_batch = averaged(1)(
    SHARED.test_backward_leaves_the_gradient_of_the_batch
)
test_step_uses_the_mean = points(1.5, requires=test_backward_leaves_the_gradient_of_the_batch)(
    SHARED.test_step_uses_the_mean
)
# Two readers pay 70 and 60 % where the ranks start with different models.
test_each_step_is_sgd = points(2.5, requires=test_replicas_stay_equal)(SHARED.test_each_step_is_sgd)


@averaged(1.5)
def test_only_all_reduce(run):
    """averages the gradients with all_reduce alone"""
    assert_kept_to(run, CASES, assert_by_all_reduce, where=assert_something_given)


def assert_by_all_reduce(case, outcome):
    """Assert that nothing else carries gradients, and that all_reduce carries all of them."""
    assert_not_through_ddp(case, outcome)
    allowed = {"all_reduce", "all_reduce_coalesced"}
    assert_gradients_only_by(case, outcome, allowed, words="all_reduce")
    assert_num_elements(case, outcome, "all_reduce", copies=outcome.ranks)


test_program_comes_to_its_end = averaged(0.5)(SHARED.test_program_comes_to_its_end)
test_training_is_one_epoch = points(2.5, requires=test_program_comes_to_its_end)(
    SHARED.test_training_is_one_epoch
)
test_two_ranks = points(1.5, requires=test_replicas_stay_equal)(SHARED.test_two_ranks)
test_one_rank = points(1, requires=test_step_uses_the_mean)(SHARED.test_one_rank)
test_program_takes_its_time_for_training_only = points(1.5, requires=test_step_uses_the_mean)(
    SHARED.test_program_takes_its_time_for_training_only
)


@averaged(0)
def test_uses_names_of_today(run):
    """uses the current names in torch.distributed"""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_names_of_today)


test_options_are_spelt_as_in_the_handout = points(0)(
    SHARED.test_options_are_spelt_as_in_the_handout
)
test_folders_are_created = points(0)(SHARED.test_folders_are_created)


# Three readers pay 60 %.
@stage(15)
def test_ranks_take_turns(run):
    """trains correctly, but on one rank at a time"""
    assert_trained_in_turns(run, CASES, assert_steps_with_mean)
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_gradients_given)
    assert_steps_come_from_payloads(run, CASES[4], assert_steps_use_all)


@stage(20)
def test_all_reduce_carries_other_numbers(run):
    """averages correctly, but adds up outside of all_reduce"""
    if epoch_of(run(4, CASES[4])).holding(assert_gradients_given):
        not_run("needs ranks that pass something else to all_reduce")
    assert_partly_averaged(run, CASES[4], assert_steps_with_mean)
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_by_all_reduce)
    assert_trained_at_once(run, CASES)


# Three readers pay 60 to 65 %.
@stage(15.75)
def test_one_rank_does_not_use_the_mean(run):
    """steps with the mean on all ranks but one"""
    if epoch_of(run(4, CASES[4])).holding(assert_steps_use_all):
        not_run("needs a rank that steps with something else")
    assert_partly_averaged(run, CASES[4], assert_steps_of_all_but_one_use_mean)


@stage(13.75)
def test_part_of_the_gradients_is_averaged(run):
    """averages at least 40% of the gradients"""
    assert_partly_averaged(run, CASES[4], assert_steps_use_mean_of_part)


@stage(10)
def test_all_ranks_give_their_gradients(run):
    """passes nearly all gradients of every rank to all_reduce"""
    assert_all_give_gradients(run, CASES[4])


@stage(7.5)
def test_most_ranks_give_their_gradients(run):
    """passes gradients from all but one rank to all_reduce"""
    assert_most_give_gradients(run, CASES[4])


@stage(8)
def test_averages_once_it_has_begun(run):
    """averages correctly once the grader helps it to start"""
    assert_helped(run, 4, CASES[4], assert_gradients_given, assert_steps_with_mean)
