"""Gradients averaged by all-reduce."""

import pytest

from grader.judge.traffic import assert_only_operations, assert_uses_operations
from grader.suite.marks import part, points
from grader.suite.timing import assert_time_ratio, same_failures_as
from grader.suite.wording import case_context

from .checks import (
    assert_own_gradients,
    assert_replicas_equal,
    assert_sgd_steps,
    assert_steps_with_mean,
    assert_steps_with_serial_mean,
)
from .examples import assert_examples_shared_out
from .rules import assert_names_of_today, assert_not_through_ddp
from .train_cases import cases_by_ranks, timing_cases

pytestmark = [part("allreduce"), pytest.mark.mpi]

FILE = "part2b/main.py"
CASES = cases_by_ranks(FILE, "all_reduce")


@points(6)
def test_four_ranks_step_with_the_mean_gradient(run):
    """On 4 ranks, every step uses the mean of all ranks' gradients."""
    for case, outcome in run(4, CASES[4]):
        assert_steps_with_mean(case, outcome)


@points(4)
def test_four_replicas_stay_equal(run):
    """On 4 ranks, all hold the same parameters at the start and after every step."""
    for case, outcome in run(4, CASES[4]):
        assert_replicas_equal(case, outcome)


@points(4)
def test_four_ranks_train_as_one_process_would(run):
    """On 4 ranks, backward gives each rank its batch's gradient, and each step is SGD as asked."""
    for case, outcome in run(4, CASES[4]):
        assert_own_gradients(case, outcome)
        assert_sgd_steps(case, outcome)


@points(4)
def test_four_ranks_share_out_the_examples(run):
    """4 ranks together train on each example once, each in batches of 64."""
    for case, outcome in run(4, CASES[4]):
        assert_examples_shared_out(case, outcome)


@points(3, requires=test_four_ranks_step_with_the_mean_gradient)
def test_all_reduce_carries_the_gradients(run):
    """Between backward and the step, dist.all_reduce is all that sends."""
    for case, outcome in run(4, CASES[4]):
        assert_not_through_ddp(case, outcome)
        with case_context(case, outcome):
            assert_only_operations(outcome.trace, allowed={"all_reduce"}, words="all_reduce")
            assert_uses_operations(outcome.trace, required={"all_reduce"})


@points(3)
@pytest.mark.parametrize("ranks", [2, 1])
def test_other_numbers_of_ranks(run, ranks):
    """On 2 ranks, and on one alone, all this holds as well, with 256 // n examples each."""
    for case, outcome in run(ranks, CASES[ranks]).having(purpose="values"):
        assert_steps_with_mean(case, outcome)
        assert_replicas_equal(case, outcome)
        assert_own_gradients(case, outcome)
        assert_sgd_steps(case, outcome)
        assert_examples_shared_out(case, outcome)


@points(1, requires=test_four_ranks_step_with_the_mean_gradient)
def test_iterations_take_no_longer_than_they_have_to(run):
    """On 2 ranks the program takes no more than a small multiple of the time of ours."""
    assert_time_ratio(
        lambda attempt: run(2, timing_cases(FILE, "all_reduce", attempt) if attempt else CASES[2]),
        check=same_failures_as(
            run(2, CASES[2]),
            assert_examples_shared_out,
            assert_steps_with_serial_mean,
            assert_sgd_steps,
        ),
        factor=6,
        what="the program on 2 ranks, 2 iterations,",
        yardstick="a plain loop that averages by all_reduce",
    )


@points(0)
def test_uses_names_of_today(run):
    """The program uses the names that torch.distributed has today."""
    for case, outcome in run(4, CASES[4]):
        assert_names_of_today(case, outcome)
