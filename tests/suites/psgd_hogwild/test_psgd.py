"""Parallel SGD: each rank learns from its own part, the average is taken once, at the end."""

import pytest

from grader.suite.marks import part, points

from .psgd_cases import (
    MANY_RANKS,
    RANKS,
    SEVERAL_RANKS,
    assert_average,
    assert_parts,
    assert_plain_sgd_bit_for_bit,
    assert_silent_meanwhile,
    cases_of,
)
from .sources import Sources, assert_no_solver

pytestmark = [part("psgd"), pytest.mark.mpi]

SOURCES = Sources(file="psgd.py")
ALL_RANKS = RANKS + MANY_RANKS
CASES = {ranks: (cases_of(ranks) + ((SOURCES,) if ranks == 1 else ())) for ranks in ALL_RANKS}


@points(4)
@pytest.mark.parametrize("ranks", ALL_RANKS)
def test_every_rank_returns_the_average(run, ranks):
    """Every rank returns the mean of the weights that SGD gives on each rank's own batches.

    One case is run without any buffering of messages.
    """
    cases = run(ranks, CASES[ranks]).having(probe="train_psgd")
    for case, outcome in cases.having(starts_differ=False):
        assert_average(case, outcome)


@points(2)
@pytest.mark.parametrize("ranks", ALL_RANKS)
def test_parts_are_disjoint_and_complete(run, ranks):
    """Each rank goes through its own part every epoch; the parts together are the dataset."""
    cases = run(ranks, CASES[ranks]).having(probe="train_psgd")
    for case, outcome in cases.having(synchronous_sends=False):
        assert_parts(case, outcome)


@points(1, requires=test_every_rank_returns_the_average)
def test_one_rank_is_plain_sgd(run):
    """On one rank the result is that of plain SGD, bit for bit."""
    cases = run(1, CASES[1]).having(probe="train_psgd")
    for case, outcome in cases.having(synchronous_sends=False):
        assert_plain_sgd_bit_for_bit(case, outcome)


@points(1, requires=test_every_rank_returns_the_average)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_all_ranks_start_from_rank_0s_weights(run, ranks):
    """Models that begin with different weights are trained from those of rank 0."""
    cases = run(ranks, CASES[ranks]).having(probe="train_psgd")
    for case, outcome in cases.having(starts_differ=True):
        assert_average(case, outcome)


@points(1, requires=test_every_rank_returns_the_average)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_nothing_is_exchanged_between_the_steps(run, ranks):
    """No rank sends or receives anything between its first step and its last."""
    cases = run(ranks, CASES[ranks]).having(probe="train_psgd")
    for case, outcome in cases.having(synchronous_sends=False):
        assert_silent_meanwhile(case, outcome)


@points(1, requires=test_every_rank_returns_the_average)
def test_no_other_solver(run):
    """No file handed in imports scikit-learn or another package that trains models."""
    for _, outcome in run(1, CASES[1]).having(probe="read_sources"):
        assert_no_solver(outcome)
