"""Gradients averaged on rank 0, by gather and scatter."""

import pytest

from grader.judge.traffic import assert_only_operations, assert_uses_operations
from grader.suite.marks import part, points
from grader.suite.wording import naming

from .checks import (
    assert_own_gradients,
    assert_replicas_equal,
    assert_sgd_steps,
    assert_steps_with_mean,
)
from .examples import assert_examples_shared_out
from .rules import assert_not_through_ddp
from .train_cases import cases_by_ranks

pytestmark = [part("gather_scatter"), pytest.mark.mpi]

CASES = cases_by_ranks("part2a/main.py")


@points(10)
def test_four_ranks_step_with_the_mean_gradient(run):
    """On 4 ranks, every step uses the mean of all ranks' gradients."""
    for case, outcome in run(4, CASES[4]):
        assert_steps_with_mean(case, outcome)


@points(6)
def test_four_replicas_stay_equal(run):
    """On 4 ranks, all hold the same parameters at the start and after every step."""
    for case, outcome in run(4, CASES[4]):
        assert_replicas_equal(case, outcome)


@points(5)
def test_four_ranks_train_as_one_process_would(run):
    """On 4 ranks, backward gives each rank its batch's gradient, and each step is SGD as asked."""
    for case, outcome in run(4, CASES[4]):
        assert_own_gradients(case, outcome)
        assert_sgd_steps(case, outcome)


@points(5)
def test_four_ranks_share_out_the_examples(run):
    """4 ranks together train on each example once, each in batches of 64."""
    for case, outcome in run(4, CASES[4]):
        assert_examples_shared_out(case, outcome)


@points(5, requires=test_four_ranks_step_with_the_mean_gradient)
def test_gather_and_scatter_carry_the_gradients(run):
    """Between backward and the step, dist.gather and dist.scatter are all that sends."""
    for case, outcome in run(4, CASES[4]):
        assert_not_through_ddp(case, outcome)
        with naming(case, outcome):
            assert_only_operations(
                outcome.trace, allowed={"gather", "scatter"}, words="gather and scatter"
            )
            assert_uses_operations(outcome.trace, required={"gather", "scatter"})


@points(4)
@pytest.mark.parametrize("ranks", [2, 1])
def test_other_numbers_of_ranks(run, ranks):
    """On 2 ranks, and on one alone, all this holds as well, with 256 // n examples each."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_steps_with_mean(case, outcome)
        assert_replicas_equal(case, outcome)
        assert_own_gradients(case, outcome)
        assert_sgd_steps(case, outcome)
        assert_examples_shared_out(case, outcome)
