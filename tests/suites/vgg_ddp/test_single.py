"""Training on one node: the step, the batches, and the losses that are printed."""

import pytest

from grader.judge.traffic import assert_only_operations
from grader.suite.marks import part, points
from grader.suite.timing import assert_time_ratio, same_failures_as
from grader.suite.wording import case_context

from .checks import assert_own_gradients, assert_sgd_steps, assert_steps_with_serial_mean
from .examples import assert_examples_shared_out
from .printing import assert_loss_printed
from .train_cases import Printing, Training, timing_cases

pytestmark = [part("single"), pytest.mark.mpi]

FILE = "part1/main.py"
CASES = (
    Training("train", file=FILE, num_steps=3, phase="all", takes_flags=False),
    Printing("print_losses", file=FILE, num_steps=21),
    *(case for case in timing_cases(FILE, "nothing", 0) if case.purpose != "values"),
)


@points(7)
def test_each_step_is_sgd_on_its_batch(run):
    """Each iteration steps by SGD (0.1, momentum 0.9, decay 1e-4) along its batch's gradient."""
    for case, outcome in run(1, CASES).having(probe="train", purpose="values"):
        assert_own_gradients(case, outcome)
        assert_sgd_steps(case, outcome)


@points(3)
def test_an_epoch_has_every_example_once(run):
    """One epoch trains on every example once, in batches of 256."""
    for case, outcome in run(1, CASES).having(probe="train", purpose="values"):
        assert_examples_shared_out(case, outcome)


@points(3)
def test_losses_are_printed(run):
    """The loss is printed every 20 iterations."""
    for case, outcome in run(1, CASES).having(probe="print_losses"):
        assert_loss_printed(case, outcome)


@points(1, requires=test_each_step_is_sgd_on_its_batch)
def test_one_node_sends_nothing(run):
    """A program for one node calls no operation of torch.distributed."""
    for case, outcome in run(1, CASES).having(probe="train", purpose="values"):
        with case_context(case, outcome):
            assert_only_operations(outcome.trace, allowed=set(), words="none", barriers=False)


@points(1, requires=test_each_step_is_sgd_on_its_batch)
def test_iterations_take_no_longer_than_they_have_to(run):
    """The program takes no more than a small multiple of the time of ours."""
    assert_time_ratio(
        lambda attempt: run(1, timing_cases(FILE, "nothing", attempt) if attempt else CASES),
        check=same_failures_as(
            run(1, CASES),
            assert_examples_shared_out,
            assert_steps_with_serial_mean,
            assert_sgd_steps,
        ),
        factor=6,
        what="the program, 2 iterations,",
        yardstick="a plain loop that does the same",
    )
