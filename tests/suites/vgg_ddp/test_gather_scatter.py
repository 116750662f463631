"""Gradients averaged on rank 0, by gather and scatter."""

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
from .rules import assert_collected_on_rank_0, assert_gradients_only_by, assert_not_through_ddp
from .shared_tests import assert_trained_in_turns, shared_tests
from .stages import assert_all_give_gradients, assert_helped, assert_most_give_gradients
from .train_cases import cases_by_ranks, epoch_of

pytestmark = [part("gather_scatter"), pytest.mark.mpi]

CASES = cases_by_ranks("part2a/main.py", how="gather_scatter", exchange="gather")
SHARED = shared_tests(CASES)
run = joining(CASES[4])

test_ranks_start_equal = points(1.5)(SHARED.test_ranks_start_equal)
test_first_batches_are_different = points(2)(SHARED.test_first_batches_are_different)


@points(1.5)
def test_gradients_are_gathered(run):
    """passes every rank's whole gradient to gather"""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_gradients_given)
    assert_holds_later(run(4, CASES[4]), assert_gradients_given, where=assert_steps_use_all)


test_step_uses_all_gradients = points(2)(SHARED.test_step_uses_all_gradients)
averaged = partial(points, requires=test_step_uses_all_gradients)
test_replicas_stay_equal = averaged(2.5)(SHARED.test_replicas_stay_equal)
test_examples_are_shared_out = averaged(1.5)(SHARED.test_examples_are_shared_out)
test_batches_have_256_examples_in_all = averaged(1)(SHARED.test_batches_have_256_examples_in_all)
test_backward_leaves_the_gradient_of_the_batch = averaged(1.5)(
    SHARED.test_backward_leaves_the_gradient_of_the_batch
)
test_step_uses_the_mean = points(2.5, requires=test_backward_leaves_the_gradient_of_the_batch)(
    SHARED.test_step_uses_the_mean
)
test_each_step_is_sgd = averaged(3)(SHARED.test_each_step_is_sgd)


@averaged(5)
def test_only_gather_and_scatter(run):
    """averages the gradients with gather and scatter alone"""
    assert_kept_to(run, CASES, assert_by_gather_and_scatter, where=assert_something_given)


def assert_by_gather_and_scatter(case, outcome):
    """Assert that nothing else carries gradients, and that these carry all of them."""
    assert_not_through_ddp(case, outcome)
    allowed = {"gather", "scatter"}
    assert_gradients_only_by(case, outcome, allowed, words="gather and scatter")
    for name in ("gather", "scatter"):
        assert_num_elements(case, outcome, name, copies=outcome.ranks)


@averaged(2.5)
def test_rank_0_takes_the_mean(run):
    """gathers to rank 0 and scatters from rank 0"""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_collected_on_rank_0)


test_program_comes_to_its_end = averaged(0.5)(SHARED.test_program_comes_to_its_end)
test_training_is_one_epoch = points(2.5, requires=test_program_comes_to_its_end)(
    SHARED.test_training_is_one_epoch
)
test_two_ranks = points(2, requires=test_step_uses_the_mean)(SHARED.test_two_ranks)
test_one_rank = points(1.5, requires=test_step_uses_the_mean)(SHARED.test_one_rank)
test_program_takes_its_time_for_training_only = points(2, requires=test_step_uses_the_mean)(
    SHARED.test_program_takes_its_time_for_training_only
)
test_options_are_spelt_as_in_the_handout = points(0)(
    SHARED.test_options_are_spelt_as_in_the_handout
)
test_folders_are_created = points(0)(SHARED.test_folders_are_created)


# Three readers pay 60 %.
@stage(21)
def test_ranks_take_turns(run):
    """trains correctly, but on one rank at a time"""
    assert_trained_in_turns(run, CASES, assert_steps_with_mean)
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_gradients_given)
    assert_steps_come_from_payloads(run, CASES[4], assert_steps_use_all)


# Three readers pay 60 to 65 %.
@stage(22)
def test_one_rank_does_not_use_the_mean(run):
    """steps with the mean on all ranks but one"""
    if epoch_of(run(4, CASES[4])).holding(assert_steps_use_all):
        not_run("needs a rank that steps with something else")
    assert_partly_averaged(run, CASES[4], assert_steps_of_all_but_one_use_mean)


@stage(19.25)
def test_part_of_the_gradients_is_averaged(run):
    """averages at least 40% of the gradients"""
    assert_partly_averaged(run, CASES[4], assert_steps_use_mean_of_part)


@stage(14)
def test_all_ranks_give_their_gradients(run):
    """passes nearly all gradients of every rank to gather"""
    assert_all_give_gradients(run, CASES[4])


@stage(10.5)
def test_most_ranks_give_their_gradients(run):
    """passes gradients from all but one rank to gather"""
    assert_most_give_gradients(run, CASES[4])


@stage(11)
def test_averages_once_it_has_begun(run):
    """averages correctly once the grader helps it to start"""
    assert_helped(run, 4, CASES[4], assert_gradients_given, assert_steps_with_mean)
