"""Gradients averaged by DistributedDataParallel, within backward."""

import pytest

from grader.judge.traffic import assert_only_operations, assert_uses_operations
from grader.suite.marks import part, points
from grader.suite.timing import assert_time_ratio, same_failures_as
from grader.suite.wording import case_context

from .checks import assert_replicas_equal, assert_sgd_steps, assert_steps_with_serial_mean
from .examples import assert_examples_shared_out
from .rules import assert_through_ddp
from .train_cases import cases_of_ddp, timing_cases

pytestmark = [part("ddp"), pytest.mark.mpi]

FILE = "part3/main.py"
CASES = cases_of_ddp(FILE)


@points(6)
def test_four_ranks_step_with_the_mean_gradient(run):
    """On 4 ranks, every step uses the mean of all ranks' gradients."""
    for case, outcome in run(4, CASES[4]).having(phase="between"):
        assert_steps_with_serial_mean(case, outcome)


@points(4)
def test_four_replicas_stay_equal(run):
    """On 4 ranks, all hold the same parameters at the start and after every step."""
    for case, outcome in run(4, CASES[4]).having(phase="between"):
        assert_replicas_equal(case, outcome)


@points(4)
def test_four_ranks_train_as_one_process_would(run):
    """On 4 ranks, each step is SGD with rate 0.1, momentum 0.9 and decay 1e-4."""
    for case, outcome in run(4, CASES[4]).having(phase="between"):
        assert_sgd_steps(case, outcome)


@points(4)
def test_four_ranks_share_out_the_examples(run):
    """4 ranks together train on each example once, each in batches of 64."""
    for case, outcome in run(4, CASES[4]).having(phase="between"):
        assert_examples_shared_out(case, outcome)


@points(3, requires=test_four_ranks_step_with_the_mean_gradient)
def test_distributed_data_parallel_does_it(run):
    """The model is trained within DistributedDataParallel, which sends during backward."""
    for case, outcome in run(4, CASES[4]).having(phase="inside"):
        assert_through_ddp(case, outcome)
        with case_context(case, outcome):
            assert_uses_operations(outcome.trace, required={"all_reduce"})
    for case, outcome in run(4, CASES[4]).having(phase="between"):
        with case_context(case, outcome):
            assert_only_operations(
                outcome.trace, allowed=set(), words="none between backward and the step"
            )


@points(3)
@pytest.mark.parametrize("ranks", [2, 1])
def test_other_numbers_of_ranks(run, ranks):
    """On 2 ranks, and on one alone, all this holds as well, with 256 // n examples each."""
    for case, outcome in run(ranks, CASES[ranks]).having(purpose="values"):
        assert_steps_with_serial_mean(case, outcome)
        assert_replicas_equal(case, outcome)
        assert_sgd_steps(case, outcome)
        assert_examples_shared_out(case, outcome)


@points(1, requires=test_four_ranks_step_with_the_mean_gradient)
def test_iterations_take_no_longer_than_they_have_to(run):
    """On 2 ranks the program takes no more than a small multiple of the time of ours."""
    assert_time_ratio(
        lambda attempt: run(2, timing_cases(FILE, "ddp", attempt) if attempt else CASES[2]),
        check=same_failures_as(
            run(2, CASES[2]),
            assert_examples_shared_out,
            assert_steps_with_serial_mean,
            assert_sgd_steps,
        ),
        factor=6,
        what="the program on 2 ranks, 2 iterations,",
        yardstick="a plain loop that averages by DistributedDataParallel",
    )
