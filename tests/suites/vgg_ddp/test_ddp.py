"""Gradients averaged by DistributedDataParallel, within backward."""

import pytest

from grader.api import (
    assert_only_operations,
    assert_time_ratio,
    case_context,
    part,
    points,
    same_failures_as,
)

from .batches import (
    assert_nothing_left,
    assert_steps_use_all_batches,
    assert_steps_with_mean_of_batches,
)
from .checks import (
    assert_all_hold,
    assert_holds_as_well,
    assert_replicas_equal,
    assert_sgd_steps,
    assert_starts_equal,
    require,
)
from .examples import assert_batch_sizes, assert_one_epoch, assert_shared_out
from .proof import assert_steps_come_from_backward
from .rules import assert_options_of_handout, assert_through_ddp, assert_wrapped
from .steps import assert_trained
from .train_cases import cases_by_ranks, epoch_of, first_batch_of, timing_cases

pytestmark = [part("ddp"), pytest.mark.mpi]

FILE = "part3/main.py"
CASES = cases_by_ranks(FILE, how="ddp")
OF_VALUES = (
    assert_replicas_equal,
    assert_shared_out,
    assert_batch_sizes,
    assert_nothing_left,
    assert_sgd_steps,
    assert_steps_with_mean_of_batches,
)


@points(1)
def test_ranks_start_equal(run):
    """Before the first step, 4 ranks hold the same parameters."""
    assert_all_hold(first_batch_of(run(4, CASES[4])), assert_starts_equal)


@points(1.5)
def test_first_batches_are_different(run):
    """The first batches of 4 ranks have no example in common."""
    assert_all_hold(first_batch_of(run(4, CASES[4])), assert_shared_out)


@points(2)
def test_model_is_wrapped(run):
    """On 4 ranks, the model that is trained is inside torch's own DistributedDataParallel."""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_wrapped)


@points(1.5, requires=test_model_is_wrapped)
def test_wrapped_model_is_called(run):
    """Every training batch of 4 ranks goes through DistributedDataParallel, which then sends."""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_through_ddp)
    assert_steps_come_from_backward(run, CASES[4])


@points(3, requires=test_wrapped_model_is_called)
def test_step_uses_all_gradients(run):
    """Each step of 4 ranks uses the gradients of all ranks' batches in equal parts."""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_steps_use_all_batches)
    assert_steps_come_from_backward(run, CASES[4])


@points(2.5, requires=test_step_uses_all_gradients)
def test_step_uses_the_mean(run):
    """The gradient of each step is the mean over 4 ranks."""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_steps_with_mean_of_batches)


@points(1.5, requires=test_wrapped_model_is_called)
def test_replicas_stay_equal(run):
    """After every step, 4 ranks hold the same parameters."""
    require(first_batch_of(run(4, CASES[4])), assert_starts_equal, "they differ from the start")
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_replicas_equal)


@points(1.5, requires=test_wrapped_model_is_called)
def test_examples_are_shared_out(run):
    """In one epoch, no example is trained on twice by 4 ranks together."""
    require(
        first_batch_of(run(4, CASES[4])), assert_shared_out, "the first batches have some alike"
    )
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_shared_out)


@points(1, requires=test_wrapped_model_is_called)
def test_batches_have_256_examples_in_all(run):
    """Each of 4 ranks takes batches of 64; only the last of an epoch may have fewer."""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_batch_sizes)


@points(1.5, requires=test_wrapped_model_is_called)
def test_gradients_are_zeroed(run):
    """The gradient of a step has nothing of the steps before it."""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_nothing_left)


@points(1.5, requires=test_wrapped_model_is_called)
def test_each_step_is_sgd(run):
    """Each step is SGD with learning rate 0.1, momentum 0.9 and weight decay 1e-4."""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_sgd_steps)


@points(1, requires=test_wrapped_model_is_called)
def test_nothing_else_sends(run):
    """Between backward and step, nothing is sent."""
    for case, outcome in epoch_of(run(4, CASES[4])):
        with case_context(case, outcome):
            assert_only_operations(
                outcome.trace, allowed=set(), words="none between backward and step"
            )


@points(1, requires=test_wrapped_model_is_called)
def test_program_comes_to_its_end(run):
    """On 4 ranks, the program ends by itself after its epoch, and nobody waits for a message."""
    assert_all_hold(run(4, CASES[4]).having(extent="program"))


@points(1, requires=test_program_comes_to_its_end)
def test_training_is_one_epoch(run):
    """The training of 4 ranks is one epoch: none is left out, also of the last, smaller batches."""
    require(epoch_of(run(4, CASES[4])), assert_shared_out, "the ranks share no epoch out")
    assert_all_hold(run(4, CASES[4]).having(extent="program"), assert_one_epoch)


@points(1.5, requires=test_wrapped_model_is_called)
def test_two_ranks(run):
    """What holds on 4 ranks holds on 2 ranks, with 128 examples for each."""
    assert_holds_as_well(run(2, CASES[2]), run(4, CASES[4]), OF_VALUES)


@points(1, requires=test_wrapped_model_is_called)
def test_one_rank(run):
    """What holds on 4 ranks holds on one rank alone, with 256 examples."""
    assert_holds_as_well(run(1, CASES[1]), run(4, CASES[4]), OF_VALUES)


@points(1, requires=test_step_uses_the_mean)
def test_program_takes_its_time_for_training_only(run):
    """On 2 ranks, the program takes at most 6 times as long as a plain loop that does the same."""
    require(epoch_of(run(2, CASES[2])), assert_trained, "there is no training on 2 ranks")
    assert_time_ratio(
        lambda attempt: run(2, timing_cases(FILE, "ddp", attempt) if attempt else CASES[2]),
        check=same_failures_as(
            run(2, CASES[2]), assert_shared_out, assert_steps_with_mean_of_batches, assert_sgd_steps
        ),
        factor=6,
        what="the program on 2 ranks, 2 iterations,",
        yardstick="a plain loop that averages by DistributedDataParallel",
    )


@points(0)
def test_options_are_spelt_as_in_the_handout(run):
    """The program spells its options as the handout's command line does."""
    require(first_batch_of(run(4, CASES[4])), assert_trained, "there is no training on 4 ranks")
    assert_all_hold(first_batch_of(run(4, CASES[4])), assert_options_of_handout)
