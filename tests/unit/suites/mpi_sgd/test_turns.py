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


def sends(*entered_ns):
    return [at("Send", each, each + 1, peer=1) for each in entered_ns]


def receives(*completed_ns):
    return [at("Recv", each - 1, each, peer=0, matched_source=0) for each in completed_ns]


def barriers(*times_ns):
    return [at("Barrier", *times) for times in times_ns]


# Rank 0 computes from 10 to 20, from 50 to 60, and from 90 to 100.
FIRST_BEGAN, FIRST_ENDED = [10, 50, 90], [20, 60, 100]
EXCHANGED = receives(45, 75, 110)


@pytest.mark.parametrize(
    ("calls", "began", "ended"),
    [
        ([sends(5, 21, 61, 101), [*receives(8), *EXCHANGED]], [9, 46, 86], [44, 70, 99]),
        ([sends(21, 61, 101), EXCHANGED], [30, 46, 86], [44, 70, 99]),
        ([sends(21, 61, 101), receives(22, 75, 110)], [30, 46, 86], [44, 70, 99]),
        ([barriers((21, 40), (61, 80)), barriers((35, 40), (75, 80))], [30, 46, 86], [34, 70, 99]),
        ([[], []], [25, 65, 105], [30, 70, 110]),
        ([[], []], [], []),
    ],
    ids=["start weights", "a late rank", "early once", "collectives", "without a word", "no step"],
)
def test_ranks_that_exchange_afterwards_compute_at_once(calls, began, ended):
    """However late one of them is, and where it has got a message before it needed it."""
    outcome = trained(calls, [FIRST_BEGAN, began], [FIRST_ENDED, ended])
    assert_ranks_compute_at_once(CASE, outcome)


@pytest.mark.parametrize(
    "calls",
    [
        [sends(21, 61, 101), receives(22, 62, 102)],
        [barriers((21, 24), (61, 64), (101, 104)), barriers((5, 24), (45, 64), (85, 104))],
        [sends(5, 21, 61, 101), receives(8, 24, 64, 104)],
    ],
    ids=["a token", "a barrier", "after the start weights"],
)
def test_a_rank_that_waits_for_anothers_gradient_does_not(calls):
    """It always begins only when the other one is done and has told it so."""
    times = [FIRST_BEGAN, [25, 65, 105]], [FIRST_ENDED, [30, 70, 110]]
    with pytest.raises(RuleViolation, match="In each of 3 steps, rank 1 began to compute only"):
        assert_ranks_compute_at_once(CASE, trained(calls, *times))
    assert_ranks_compute_at_once(CASE, trained(calls, *times, truncated=True))
    few = [[each[:2] for each in of_ranks] for of_ranks in times]
    assert_ranks_compute_at_once(CASE, trained(calls, *few))


def test_a_communicator_that_one_of_them_is_not_in_says_nothing():
    """Leaders of groups call more collectives than others do."""
    of_leader = [at("Allreduce", each, each + 3, communicator=7) for each in (5, 45, 85)]
    calls = [barriers((21, 40), (61, 80)), [*of_leader, *barriers((35, 40), (75, 80))]]
    assert_ranks_compute_at_once(
        CASE, trained(calls, [FIRST_BEGAN, [30, 50, 90]], [FIRST_ENDED, [34, 70, 99]])
    )
