"""Gradients averaged on rank 0, by messages."""

import pytest

from grader.judge.traffic import (
    assert_only_operations,
    assert_requests_completed,
    assert_uses_operations,
)
from grader.suite.marks import part, points
from grader.suite.wording import case_context

from .checks import (
    assert_own_gradients,
    assert_replicas_equal,
    assert_sgd_steps,
    assert_steps_with_mean,
)
from .examples import assert_examples_shared_out
from .rules import assert_messages_by_rank_0, assert_not_through_ddp
from .train_cases import cases_by_ranks

pytestmark = [part("isend_irecv"), pytest.mark.mpi]

CASES = cases_by_ranks("part2a/main_isend.py")


@points(0)
def test_four_ranks_step_with_the_mean_gradient(run):
    """On 4 ranks, every step uses the mean of all ranks' gradients."""
    for case, outcome in run(4, CASES[4]):
        assert_steps_with_mean(case, outcome)


@points(0)
def test_four_ranks_train_as_one_process_would(run):
    """4 ranks start equal, train on examples of their own, and step alike, by SGD as asked."""
    for case, outcome in run(4, CASES[4]):
        assert_replicas_equal(case, outcome)
        assert_own_gradients(case, outcome)
        assert_sgd_steps(case, outcome)
        assert_examples_shared_out(case, outcome)


@points(0, requires=test_four_ranks_step_with_the_mean_gradient)
def test_isend_and_irecv_carry_the_gradients(run):
    """Between backward and the step, isend and irecv to and from rank 0 are all that sends."""
    for case, outcome in run(4, CASES[4]):
        assert_not_through_ddp(case, outcome)
        with case_context(case, outcome):
            assert_only_operations(
                outcome.trace, allowed={"isend", "irecv"}, words="isend and irecv"
            )
            assert_uses_operations(outcome.trace, required={"isend", "irecv"})
            assert_requests_completed(outcome.trace)
        assert_messages_by_rank_0(case, outcome)


@points(0)
@pytest.mark.parametrize("ranks", [2, 1])
def test_other_numbers_of_ranks(run, ranks):
    """On 2 ranks, and on one alone, all this holds as well, with 256 // n examples each."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_steps_with_mean(case, outcome)
        assert_replicas_equal(case, outcome)
        assert_own_gradients(case, outcome)
        assert_sgd_steps(case, outcome)
        assert_examples_shared_out(case, outcome)
