"""Parallel SGD: each rank learns from its own part, the average is taken once, at the end."""

import pytest

from grader.api import part, points

from .psgd_cases import ENOUGH_RANKS, GROUPED_RANKS, MANY_RANKS, SEVERAL_RANKS, cases_of
from .psgd_checks import (
    assert_as_right_as,
    assert_come_together,
    assert_mean,
    assert_parts_complete,
    assert_parts_disjoint,
    assert_plain_sgd_bit_for_bit,
    assert_sgd,
    assert_silent_meanwhile,
)
from .sources import Sources, assert_no_solver
from .training_cases import assert_given_model

pytestmark = [part("psgd"), pytest.mark.mpi]

SOURCES = Sources(file="psgd.py")
CASES = {
    ranks: cases_of(ranks) + ((SOURCES,) if ranks == GROUPED_RANKS else ())
    for ranks in [1, *SEVERAL_RANKS, *MANY_RANKS]
}
PARTS = ("values", "unequal parts")
"""Subjects of the cases that the parts of the data are looked at in."""
ALL_CHECKS = (assert_parts_disjoint, assert_parts_complete, assert_come_together, assert_mean)


@points(1.75)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_parts_are_disjoint(run, ranks):
    """Each of 2 to 5 ranks trains on a part of its own: no example belongs to two of them."""
    for subject in PARTS:
        for case, outcome in run(ranks, CASES[ranks]).having(subject=subject):
            assert_parts_disjoint(case, outcome)


@points(0.75)
@pytest.mark.parametrize("ranks", ENOUGH_RANKS)
def test_weights_of_all_ranks_come_together(run, ranks):
    """On 3 to 5 ranks, at least one ends with a sum or mean of what all have learned."""
    for case, outcome in run(ranks, CASES[ranks]).having(subject="values"):
        assert_come_together(case, outcome)


# Whoever trains on all data without a word to the others runs no parallel SGD.
@points(1.5, requires=(test_parts_are_disjoint, test_weights_of_all_ranks_come_together))
@pytest.mark.parametrize("ranks", ENOUGH_RANKS)
def test_each_rank_runs_sgd(run, ranks):
    """On 3 to 5 ranks, each rank's training is plain SGD with the loss of training.py."""
    for case, outcome in run(ranks, CASES[ranks]).having(subject="values"):
        assert_sgd(case, outcome)


@points(0.75, requires=(test_parts_are_disjoint, test_weights_of_all_ranks_come_together))
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_parts_are_complete(run, ranks):
    """Each rank goes once an epoch through its part; no example is left out."""
    for subject in PARTS:
        for case, outcome in run(ranks, CASES[ranks]).having(subject=subject):
            assert_parts_complete(case, outcome)


@points(1.25, requires=test_weights_of_all_ranks_come_together)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_every_rank_returns_the_mean(run, ranks):
    """On 2 to 5 ranks, every rank ends with the mean of what all have learned."""
    for case, outcome in run(ranks, CASES[ranks]).having(subject="values"):
        assert_mean(case, outcome)


@points(0.5, requires=test_every_rank_returns_the_mean)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_unequal_parts_count_equally(run, ranks):
    """The mean is plain: a rank with fewer examples counts as much as the others."""
    for case, outcome in run(ranks, CASES[ranks]).having(subject="unequal parts"):
        assert_mean(case, outcome)


@points(0.75, requires=test_weights_of_all_ranks_come_together)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_all_ranks_start_from_rank_0s_weights(run, ranks):
    """Models that begin with different weights are trained from those of rank 0."""
    for case, outcome in run(ranks, CASES[ranks]).having(subject="start"):
        assert_come_together(case, outcome)


@points(0.75, requires=test_weights_of_all_ranks_come_together)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_nothing_is_exchanged_between_the_steps(run, ranks):
    """No rank sends or receives anything between its first step and its last."""
    for subject in (*PARTS, "start"):
        for case, outcome in run(ranks, CASES[ranks]).having(subject=subject):
            assert_silent_meanwhile(case, outcome)


@points(0.25, requires=test_weights_of_all_ranks_come_together)
@pytest.mark.parametrize("ranks", [1])
def test_one_rank_is_plain_sgd(run, ranks):
    """On one rank the result is that of plain SGD, bit for bit."""
    for subject in PARTS:
        for case, outcome in run(ranks, CASES[ranks]).having(subject=subject):
            assert_plain_sgd_bit_for_bit(case, outcome)


@points(0.5, requires=test_weights_of_all_ranks_come_together)
@pytest.mark.parametrize("ranks", [GROUPED_RANKS])
def test_any_communicator(run, ranks):
    """A communicator may be smaller than the world, or have its ranks in another order."""
    launch = run(ranks, CASES[ranks])
    ordinary = [answer for subject in PARTS for answer in launch.having(subject=subject)]
    for case, outcome in launch.having(subject="communicators"):
        assert_as_right_as(ordinary, ALL_CHECKS, case, outcome)


@points(0.25, requires=test_weights_of_all_ranks_come_together)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_works_without_buffering(run, ranks):
    """The result is right even if every send waits until its receive is posted."""
    launch = run(ranks, CASES[ranks])
    ordinary = list(launch.having(subject="values"))
    for case, outcome in launch.having(subject="buffering"):
        assert_as_right_as(ordinary, (assert_come_together, assert_mean), case, outcome)


@points(0.25, requires=test_weights_of_all_ranks_come_together)
@pytest.mark.parametrize("ranks", MANY_RANKS)
def test_many_ranks(run, ranks):
    """8 and 16 ranks work as well, with parts of unequal length."""
    ordinary = list(run(GROUPED_RANKS, CASES[GROUPED_RANKS]).having(subject="unequal parts"))
    for case, outcome in run(ranks, CASES[ranks]):
        assert_as_right_as(ordinary, ALL_CHECKS, case, outcome)


@points(0.5, requires=test_weights_of_all_ranks_come_together)
@pytest.mark.parametrize("ranks", ENOUGH_RANKS)
def test_the_given_model_is_trained_and_returned(run, ranks):
    """The model that is returned is the one that was given."""
    for case, outcome in run(ranks, CASES[ranks]).having(subject="values"):
        assert_given_model(case, outcome, "psgd")


@points(0.25, requires=(test_each_rank_runs_sgd, test_weights_of_all_ranks_come_together))
@pytest.mark.parametrize("ranks", [GROUPED_RANKS])
def test_no_other_solver(run, ranks):
    """Nothing that is handed in imports scikit-learn or another package that trains models."""
    launch = run(ranks, CASES[ranks])
    files = [outcome for _, outcome in launch.having(probe="read_sources")]
    calls = [outcome for _, outcome in launch.having(subject="values")]
    assert_no_solver(*files, *calls)
