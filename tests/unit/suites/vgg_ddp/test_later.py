"""Later steps: those that nobody saw, though gradients or losses show them, are told."""

from dataclasses import replace

import numpy as np
import pytest
from vgg_ddp.later import assert_all_steps_hold, assert_holds_later
from vgg_ddp.train_cases import Printing

from grader.grading_plugin.launch_results import make_launch

from .trainings import EPOCH, case, outcome, refused, right

LATE = case("late")
PRINTING = Printing("print_losses", file="part1/main.py", num_full_batches=5)
FIRST = make_launch((EPOCH,), [outcome(EPOCH, right(1))], 1)


def holds(case, seen):
    """A check that always holds."""


def check_late(case, seen):
    launch = make_launch((EPOCH, case), [outcome(EPOCH, right(2)), seen], 2)
    assert_holds_later(launch, holds, where=holds)


def check_printing(case, seen):
    assert_all_steps_hold(FIRST, make_launch((case,), [seen], 1), holds)


def late(num_backward, num_steps):
    counts = np.array([num_backward, num_backward, num_steps])
    results = [{**each, "batch_sizes": np.zeros(0), "counts": counts} for each in right(2)]
    return replace(outcome(LATE, results), inputs=({"num_earlier_steps": 3},) * 2)


def printing(losses):
    results = [{**right(1, num_steps=2)[0], "losses": np.array(losses)}]
    return replace(outcome(PRINTING, results), inputs=({"drawn_step": 4},))


def test_gradients_without_a_step_of_an_optimizer_are_told():
    refused(check_late, late(9, 2), "training.steps_missing", LATE, rank=0, backward=9, steps=2)


@pytest.mark.parametrize("counts", [(2, 2), (4, 3)])
def test_a_training_may_end_before(counts):
    check_late(LATE, late(*counts))


def test_losses_after_numbers_that_are_not_finite_are_told():
    seen = printing([2.3, 2.2, float("nan"), 2.1])
    refused(check_printing, seen, "training.losses_without_steps", PRINTING, iteration=2)


@pytest.mark.parametrize("later", [[], [float("nan")] * 2])
def test_losses_may_grow_beyond_all_bounds(later):
    check_printing(PRINTING, printing([2.3, 2.2, *later]))
