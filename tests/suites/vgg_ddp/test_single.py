"""Training on one node: the step, the batches, and the losses that are printed."""

import pytest

from grader.api import assert_only_operations, case_context, part, points, stage

from .batches import assert_in_training_mode, assert_own_gradients
from .checks import (
    assert_all_hold,
    assert_holds_where_trained,
    assert_sgd_steps,
    assert_steps_use_all,
    assert_takes_time_of_training,
)
from .examples import assert_batch_sizes, assert_one_epoch
from .later import assert_all_steps_hold, assert_drawn_step_holds
from .printing import assert_loss_printed
from .rules import assert_folders_created
from .stages import assert_helped
from .train_cases import Printing, Training, epoch_of, timing_cases

pytestmark = [part("single"), pytest.mark.mpi]

FILE = "part1/main.py"
CASES = (
    Training("train", file=FILE, phase="all", takes_flags=False, subject="training"),
    *timing_cases(FILE, "nothing", 0),
)
PRINTING = (Printing("print_losses", file=FILE, num_full_batches=41),)
"""In a launch of its own: it takes longer than all the others, which can be told before."""


@points(4.25)
def test_backward_leaves_the_gradient_of_the_batch(run):
    """uses only the batch's own gradient in each step"""
    assert_all_hold(epoch_of(run(1, CASES)), assert_own_gradients)
    assert_all_steps_hold(run(1, CASES), run(1, PRINTING), assert_steps_use_all)
    assert_drawn_step_holds(
        run(1, CASES), run(1, PRINTING), assert_own_gradients, where=assert_in_training_mode
    )


@points(3.5)
def test_each_step_is_sgd(run):
    """uses SGD (lr 0.1, momentum 0.9, weight decay 1e-4)"""
    assert_all_hold(epoch_of(run(1, CASES)), assert_sgd_steps)
    assert_all_steps_hold(run(1, CASES), run(1, PRINTING), assert_sgd_steps)


TRAINS = (test_backward_leaves_the_gradient_of_the_batch, test_each_step_is_sgd)


@points(0.5, requires=TRAINS)
def test_batches_have_256_examples(run):
    """trains on batches of 256 examples"""
    assert_all_hold(epoch_of(run(1, CASES)), assert_batch_sizes)


@points(0.5, requires=TRAINS)
def test_program_comes_to_its_end(run):
    """exits after training"""
    assert_all_hold(run(1, PRINTING))


@points(2, requires=test_program_comes_to_its_end)
def test_training_is_one_epoch(run):
    """trains for exactly one epoch, last batch included"""
    assert_all_hold(run(1, PRINTING), assert_one_epoch)


@points(2.25, requires=test_program_comes_to_its_end)
def test_losses_are_printed(run):
    """prints the loss every 20 iterations"""
    assert_all_hold(run(1, PRINTING), assert_loss_printed)


@points(1.5, requires=TRAINS)
def test_one_node_sends_nothing(run):
    """calls no torch.distributed operation"""
    for case, outcome in epoch_of(run(1, CASES)):
        with case_context(case, outcome):
            assert_only_operations(outcome.trace, allowed=set(), words="none", barriers=False)


@points(0.5, requires=TRAINS)
def test_program_takes_its_time_for_training_only(run):
    """takes at most 6x the time of a plain training loop"""
    assert_takes_time_of_training(run, 1, CASES)


@points(0)
def test_folders_are_created(run):
    """creates the folders that it writes to"""
    assert_holds_where_trained(run(1, PRINTING), assert_folders_created)


@stage(6)
def test_trains_once_it_has_begun(run):
    """trains correctly once the grader helps it to start"""
    assert_helped(run, 1, CASES, assert_own_gradients, assert_sgd_steps)
