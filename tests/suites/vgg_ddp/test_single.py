"""Training on one node: the step, the batches, and the losses that are printed."""

import pytest

from grader.api import (
    assert_only_operations,
    assert_time_ratio,
    case_context,
    part,
    points,
    same_failures_as,
)

from .batches import assert_own_gradients, assert_steps_with_mean_of_batches
from .checks import assert_all_hold, assert_sgd_steps
from .examples import assert_batch_sizes, assert_one_epoch, assert_shared_out
from .printing import assert_loss_printed
from .train_cases import Printing, Training, epoch_of, timing_cases

pytestmark = [part("single"), pytest.mark.mpi]

FILE = "part1/main.py"
CASES = (
    Training("train", file=FILE, phase="all", takes_flags=False, subject="training"),
    *timing_cases(FILE, "nothing", 0),
)
PRINTING = (Printing("print_losses", file=FILE, num_full_batches=41),)
"""In a launch of its own: it takes longer than all the others, which can be told before."""


@points(3.5)
def test_backward_leaves_the_gradient_of_the_batch(run):
    """When a step begins, `.grad` holds the gradient of its batch's mean loss and nothing else."""
    assert_all_hold(epoch_of(run(1, CASES)), assert_own_gradients)


@points(3.5)
def test_each_step_is_sgd(run):
    """Each step is SGD with learning rate 0.1, momentum 0.9 and weight decay 1e-4."""
    assert_all_hold(epoch_of(run(1, CASES)), assert_sgd_steps)


TRAINS = (test_backward_leaves_the_gradient_of_the_batch, test_each_step_is_sgd)


@points(1.5, requires=TRAINS)
def test_batches_have_256_examples(run):
    """Every batch has 256 examples; only the last of an epoch may have fewer."""
    assert_all_hold(epoch_of(run(1, CASES)), assert_batch_sizes)


@points(1, requires=TRAINS)
def test_program_comes_to_its_end(run):
    """The program ends by itself after its epoch."""
    assert_all_hold(run(1, PRINTING))


@points(1.5, requires=test_program_comes_to_its_end)
def test_training_is_one_epoch(run):
    """The training is one epoch: every example once, also those of the last, smaller batch."""
    assert_all_hold(run(1, PRINTING), assert_one_epoch)


@points(2, requires=test_program_comes_to_its_end)
def test_losses_are_printed(run):
    """The loss is printed every 20 iterations, as long as the training goes on."""
    assert_all_hold(run(1, PRINTING), assert_loss_printed)


@points(1, requires=TRAINS)
def test_one_node_sends_nothing(run):
    """A program for one node calls no operation of torch.distributed."""
    for case, outcome in epoch_of(run(1, CASES)):
        with case_context(case, outcome):
            assert_only_operations(outcome.trace, allowed=set(), words="none", barriers=False)


@points(1, requires=TRAINS)
def test_program_takes_its_time_for_training_only(run):
    """The program takes at most 6 times as long as a plain loop that does the same."""
    assert_time_ratio(
        lambda attempt: run(1, timing_cases(FILE, "nothing", attempt) if attempt else CASES),
        check=same_failures_as(
            run(1, CASES).having(extent="epoch"),
            assert_shared_out,
            assert_steps_with_mean_of_batches,
            assert_sgd_steps,
        ),
        factor=6,
        what="the program, 2 iterations,",
        yardstick="a plain loop that does the same",
    )
