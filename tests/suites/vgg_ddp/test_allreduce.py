"""Gradients averaged by all-reduce."""

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
from .proof import assert_steps_come_from_payloads
from .rules import (
    assert_gradients_given,
    assert_names_of_today,
    assert_not_through_ddp,
    assert_num_elements,
    assert_options_of_handout,
    assert_plain,
    assert_something_given,
)
from .steps import assert_trained
from .train_cases import cases_by_ranks, epoch_of, first_batch_of, timing_cases

pytestmark = [part("allreduce"), pytest.mark.mpi]

FILE = "part2b/main.py"
CASES = cases_by_ranks(FILE, how="all_reduce", exchange="all_reduce")
OF_VALUES = (
    assert_replicas_equal,
    assert_shared_out,
    assert_batch_sizes,
    assert_own_gradients,
    assert_sgd_steps,
    assert_steps_with_mean,
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
def test_gradients_are_reduced(run):
    """Each of 4 ranks gives its whole gradient to all_reduce in every iteration."""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_gradients_given)


@points(0)
def test_some_gradients_are_reduced(run):
    """Each of 4 ranks gives some parameters' gradients to all_reduce."""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_something_given)
    assert_steps_come_from_payloads(run, CASES[4], assert_steps_use_all)


@points(3, requires=test_some_gradients_are_reduced)
def test_step_uses_all_gradients(run):
    """Each step of 4 ranks uses the gradients of all ranks in equal parts."""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_steps_use_all)
    assert_steps_come_from_payloads(run, CASES[4], assert_steps_use_all)


@points(3, requires=test_step_uses_all_gradients)
def test_step_uses_the_mean(run):
    """The gradient of each step is the mean over 4 ranks: the sum, divided by their number."""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_steps_with_mean)


@points(1.5, requires=test_some_gradients_are_reduced)
def test_replicas_stay_equal(run):
    """After every step, 4 ranks hold the same parameters."""
    require(first_batch_of(run(4, CASES[4])), assert_starts_equal, "they differ from the start")
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_replicas_equal)


@points(1.5, requires=test_some_gradients_are_reduced)
def test_examples_are_shared_out(run):
    """In one epoch, no example is trained on twice by 4 ranks together."""
    require(
        first_batch_of(run(4, CASES[4])), assert_shared_out, "the first batches have some alike"
    )
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_shared_out)


@points(1, requires=test_some_gradients_are_reduced)
def test_batches_have_256_examples_in_all(run):
    """Each of 4 ranks takes batches of 64; only the last of an epoch may have fewer."""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_batch_sizes)


@points(1.5, requires=test_some_gradients_are_reduced)
def test_backward_leaves_the_gradient_of_the_batch(run):
    """When backward has returned, `.grad` holds the gradient of the rank's own batch, no more."""
    require(
        epoch_of(run(4, CASES[4])), assert_plain, "DistributedDataParallel averages in backward"
    )
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_own_gradients)


@points(1.5, requires=test_some_gradients_are_reduced)
def test_each_step_is_sgd(run):
    """Each step is SGD with learning rate 0.1, momentum 0.9 and weight decay 1e-4."""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_sgd_steps)


@points(2, requires=test_some_gradients_are_reduced)
def test_only_all_reduce(run):
    """Between backward and step, all_reduce of all gradients is all that is called."""
    for ranks in (4, 2):
        for case, outcome in epoch_of(run(ranks, CASES[ranks])).holding(assert_something_given):
            assert_not_through_ddp(case, outcome)
            with case_context(case, outcome):
                assert_only_operations(
                    outcome.trace,
                    allowed={"all_reduce", "all_reduce_coalesced"},
                    words="all_reduce",
                )
            assert_num_elements(case, outcome, "all_reduce", copies=ranks)


@points(1, requires=test_some_gradients_are_reduced)
def test_program_comes_to_its_end(run):
    """On 4 ranks, the program ends by itself after its epoch, and nobody waits for a message."""
    assert_all_hold(run(4, CASES[4]).having(extent="program"))


@points(1, requires=test_program_comes_to_its_end)
def test_training_is_one_epoch(run):
    """The training of 4 ranks is one epoch: none is left out, also of the last, smaller batches."""
    require(epoch_of(run(4, CASES[4])), assert_shared_out, "the ranks share no epoch out")
    assert_all_hold(run(4, CASES[4]).having(extent="program"), assert_one_epoch)


@points(1.5, requires=test_some_gradients_are_reduced)
def test_two_ranks(run):
    """What holds on 4 ranks holds on 2 ranks, with 128 examples for each."""
    assert_holds_as_well(run(2, CASES[2]), run(4, CASES[4]), OF_VALUES)


@points(1, requires=test_some_gradients_are_reduced)
def test_one_rank(run):
    """What holds on 4 ranks holds on one rank alone, with 256 examples."""
    assert_holds_as_well(run(1, CASES[1]), run(4, CASES[4]), OF_VALUES)


@points(1, requires=test_step_uses_the_mean)
def test_program_takes_its_time_for_training_only(run):
    """On 2 ranks, the program takes at most 6 times as long as a plain loop that does the same."""
    require(epoch_of(run(2, CASES[2])), assert_trained, "there is no training on 2 ranks")
    assert_time_ratio(
        lambda attempt: run(2, timing_cases(FILE, "all_reduce", attempt) if attempt else CASES[2]),
        check=same_failures_as(
            run(2, CASES[2]), assert_shared_out, assert_steps_with_mean_of_batches, assert_sgd_steps
        ),
        factor=6,
        what="the program on 2 ranks, 2 iterations,",
        yardstick="a plain loop that averages by all_reduce",
    )


@points(0, requires=test_some_gradients_are_reduced)
def test_uses_names_of_today(run):
    """The program uses the names that torch.distributed has today."""
    assert_all_hold(epoch_of(run(4, CASES[4])), assert_names_of_today)


@points(0)
def test_options_are_spelt_as_in_the_handout(run):
    """The program spells its options as the handout's command line does."""
    require(first_batch_of(run(4, CASES[4])), assert_trained, "there is no training on 4 ranks")
    assert_all_hold(first_batch_of(run(4, CASES[4])), assert_options_of_handout)
