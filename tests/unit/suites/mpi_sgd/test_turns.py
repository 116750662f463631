"""Ranks that compute one after another are told from those that wait for others afterwards."""

from dataclasses import replace

import numpy as np
import pytest
from mpi_sgd.sync_cases import SEVERAL_STEPS, cases_by_ranks
from mpi_sgd.turns import assert_ranks_compute_at_once

from grader.api import RuleViolation

from ...judge.build import call, outcome, trace_of
from .outcomes import inputs_of

RANKS = 2
CASE = next(
    case
    for case in cases_by_ranks("sync_network.py", has_messages=True)[RANKS]
    if case.group == SEVERAL_STEPS
)


def trained(calls_by_rank, began_ns, ended_ns, *, truncated=False):
    """Return the outcome of ranks that made these calls; times are given by rank and step."""
    results = [
        {"began_ns": np.array(began, np.int64), "ended_ns": np.array(ended, np.int64)}
        for began, ended in zip(began_ns, ended_ns, strict=True)
    ]
    trace = trace_of(calls_by_rank)
    ranks = tuple(replace(seen, truncated=truncated) for seen in trace.ranks)
    return replace(
        outcome(CASE, inputs_of(CASE, RANKS), results), trace=replace(trace, ranks=ranks)
    )


def at(function, entered_ns, left_ns, **fields):
    return call(function, entered_ns=entered_ns, left_ns=left_ns, completed_ns=left_ns, **fields)


def send(entered_ns):
    return at("Send", entered_ns, entered_ns + 1, peer=1)


def receive(completed_ns):
    return at("Recv", completed_ns - 1, completed_ns, peer=0, matched_source=0)


# Rank 0 computes from 10 to 20, and from 50 to 60.
FIRST_BEGAN, FIRST_ENDED = [10, 50], [20, 60]


@pytest.mark.parametrize(
    ("calls", "began", "ended"),
    [
        (
            [[send(5), send(21), send(61)], [receive(8), receive(45), receive(75)]],
            [9, 46],
            [44, 70],
        ),
        ([[send(21), send(61)], [receive(45), receive(75)]], [30, 46], [44, 70]),
        ([[at("Allreduce", 21, 40)], [at("Allreduce", 35, 40)]], [30, 46], [34, 70]),
        ([[], []], [25, 65], [30, 70]),
        ([[], []], [], []),
    ],
    ids=["start weights", "a late rank", "a collective", "without a word", "no step"],
)
def test_ranks_that_exchange_afterwards_compute_at_once(calls, began, ended):
    """However late one of them is."""
    outcome = trained(calls, [FIRST_BEGAN, began], [FIRST_ENDED, ended])
    assert_ranks_compute_at_once(CASE, outcome)


@pytest.mark.parametrize(
    "calls",
    [
        [[send(21), send(61)], [receive(22), receive(62)]],
        [[at("Barrier", 21, 24)], [at("Barrier", 5, 24)]],
        [[send(5), send(21)], [receive(8), receive(24)]],
    ],
    ids=["a token", "a barrier", "after the start weights"],
)
def test_a_rank_that_waits_for_anothers_gradient_does_not(calls):
    """It begins only when the other one is done and has told it so."""
    times = [FIRST_BEGAN, [25, 65]], [FIRST_ENDED, [30, 70]]
    with pytest.raises(RuleViolation, match="In step 0, rank 1 began to compute only after rank 0"):
        assert_ranks_compute_at_once(CASE, trained(calls, *times))
    assert_ranks_compute_at_once(CASE, trained(calls, *times, truncated=True))


def test_a_communicator_that_one_of_them_is_not_in_says_nothing():
    """Leaders of groups call more collectives than others do."""
    shared = {"communicator": 0}
    calls = [
        [at("Bcast", 21, 40, **shared)],
        [at("Allreduce", 5, 8, communicator=7), at("Bcast", 35, 40, **shared)],
    ]
    assert_ranks_compute_at_once(CASE, trained(calls, [[10], [25]], [[20], [30]]))
