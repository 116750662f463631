"""Naive all-reduce: every rank sends its array to every other and reduces them all."""

import pytest

from grader.judge.causality import assert_answers_follow, assert_some_message_matters
from grader.judge.traffic import (
    assert_buffers_not_pickles,
    assert_naive_volume,
    assert_only_nonblocking,
    assert_only_point_to_point,
    assert_requests_completed,
)
from grader.judge.values import assert_unchanged
from grader.suite.marks import part, points
from grader.suite.timing import assert_time_ratio
from grader.suite.wording import case_context

from .allreduce_cases import (
    ALTERED_RANKS,
    RANKS,
    SEVERAL_RANKS,
    assert_reduced,
    cases_by_ranks,
    effects_of_altering,
    timing_cases,
)

pytestmark = [part("naive_allreduce"), pytest.mark.mpi]

FILE, FUNCTION = "my_naive_allreduce.py", "allreduce"
CASES = cases_by_ranks(FILE, FUNCTION)


@points(4)
@pytest.mark.parametrize("ranks", RANKS)
def test_every_rank_holds_the_reduction(run, ranks):
    """Every rank's recv is the element-wise reduction by op of all ranks' send arrays."""
    for case, outcome in run(ranks, CASES[ranks]).having(purpose="values", synchronous_sends=False):
        assert_reduced(case, outcome)


@points(1, requires=test_every_rank_holds_the_reduction)
@pytest.mark.parametrize("ranks", RANKS)
def test_send_is_left_unchanged(run, ranks):
    """The send array is the same after the call as before."""
    for case, outcome in run(ranks, CASES[ranks]).having(purpose="values", synchronous_sends=False):
        with case_context(case, outcome):
            assert_unchanged(outcome["send"], [given["send"] for given in outcome.inputs])


@points(1, requires=test_every_rank_holds_the_reduction)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_works_when_no_message_is_buffered(run, ranks):
    """The reduction is right even if every send has to wait until its receive is posted."""
    for case, outcome in run(ranks, CASES[ranks]).having(synchronous_sends=True):
        assert_reduced(case, outcome)


@points(3, requires=test_every_rank_holds_the_reduction)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_only_point_to_point_calls_carry_data(run, ranks):
    """Point-to-point messages alone do the work: no Bcast, Allreduce or other collective."""
    for case, outcome in run(ranks, CASES[ranks]).having(moves_data=True):
        with case_context(case, outcome):
            assert_only_point_to_point(outcome.trace)
    if ranks == ALTERED_RANKS:
        _, effects = effects_of_altering(run, CASES)
        assert_some_message_matters(effects)


@points(2, requires=test_only_point_to_point_calls_carry_data)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_every_rank_sends_its_array_to_every_other(run, ranks):
    """Each of n ranks sends its array once to each other rank: n - 1 arrays, n (n - 1) in all."""
    for case, outcome in run(ranks, CASES[ranks]).having(moves_data=True):
        with case_context(case, outcome):
            assert_naive_volume(outcome.trace, case.num_elements, case.item_num_bytes)
    if ranks == ALTERED_RANKS:
        outcome, effects = effects_of_altering(run, CASES)
        # As much as is needed, and no more: so every message is.
        assert_answers_follow(outcome.trace, effects)


@points(1, requires=test_only_point_to_point_calls_carry_data)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_calls_do_not_block(run, ranks):
    """Messages are sent and received by non-blocking calls; only waiting for them may block."""
    for case, outcome in run(ranks, CASES[ranks]).having(moves_data=True):
        with case_context(case, outcome):
            assert_only_nonblocking(outcome.trace)


@points(1, requires=test_only_point_to_point_calls_carry_data)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_arrays_travel_as_buffers(run, ranks):
    """The arrays travel by upper-case calls (Isend, Irecv), not pickled by lower-case ones."""
    for case, outcome in run(ranks, CASES[ranks]).having(moves_data=True):
        with case_context(case, outcome):
            assert_buffers_not_pickles(outcome.trace)


@points(1, requires=test_only_point_to_point_calls_carry_data)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_every_request_is_completed(run, ranks):
    """Every request, those of sends too, has been waited for when the call returns."""
    for case, outcome in run(ranks, CASES[ranks]).having(moves_data=True):
        with case_context(case, outcome):
            assert_requests_completed(outcome.trace)


@points(1, requires=test_only_point_to_point_calls_carry_data)
def test_keeps_up_with_mpi(run):
    """On 2 ranks and a long array the time stays within a small multiple of MPI's Allreduce."""
    assert_time_ratio(
        lambda attempt: run(2, timing_cases(FILE, FUNCTION, attempt) if attempt else CASES[2]),
        check=assert_reduced,
        factor=20,
        what="allreduce on 2 ranks, 6 MiB,",
        yardstick="MPI's own Allreduce of as much",
    )
