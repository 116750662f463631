"""Ring all-reduce of the gradients: reduce-scatter, then all-gather, to one neighbour only."""

import pytest

from grader.api import (
    assert_one_neighbour,
    assert_only_nonblocking,
    assert_only_point_to_point,
    assert_requests_completed,
    case_context,
    functions,
    not_run,
    part,
    points,
    stage,
)

from .first_steps import assert_begins, begins_with_chunks, passes_chunks_on
from .gradient_traffic import (
    assert_added_by_messages,
    assert_carried_by_messages,
    assert_ranks_send_together,
    assert_ring_share,
)
from .later_calls import answers_of_many_calls
from .over_ranks import assert_on_few, where_drawn_holds, where_few_hold, where_several_hold
from .proof import assert_sums_come_from_payloads
from .shares import num_calls
from .sum_checks import (
    assert_adds_a_neighbour,
    assert_divided,
    assert_goes_all_the_way_round,
    assert_nearly_all_in_every_epoch,
)
from .training_cases import SEVERAL_RANKS, SHEETS_RANKS, alone_case, many_calls_case, ring_cases
from .training_checks import assert_mean_to_rounding, assert_replicas_equal, assert_trained_as_one

pytestmark = [part("ring_allreduce"), pytest.mark.mpi]

CASES = {ranks: ring_cases(ranks) for ranks in [1, *SEVERAL_RANKS]}
ALONE = alone_case("ring_allreduce.py")
MANY_CALLS = many_calls_case("ring_allreduce.py")
GOES_ROUND = "delivers every rank's gradients to every rank"


def many_calls_that_go_round(run):
    """Return the answer of many calls, if every rank's gradients still come to every other."""
    return answers_of_many_calls(run, CASES, MANY_CALLS, assert_goes_all_the_way_round)


def where_gradients_go_round(run):
    """Return the answers that most rules are judged by."""
    answers = where_several_hold(run, CASES, assert_goes_all_the_way_round, GOES_ROUND)
    return [*answers, *many_calls_that_go_round(run)]


@points(0)
def test_sums_are_made_by_messages(run):
    """adds up the gradients with point-to-point messages"""
    for case, outcome in where_few_hold(run, CASES, assert_goes_all_the_way_round):
        with case_context(case, outcome):
            assert_added_by_messages(outcome.trace, num_calls(outcome))
    drawn = where_drawn_holds(run, CASES, assert_goes_all_the_way_round)
    assert_sums_come_from_payloads(run, drawn)
    for case, outcome in many_calls_that_go_round(run):
        with case_context(case, outcome):
            assert_added_by_messages(outcome.trace, num_calls(outcome))


@points(0, requires=test_sums_are_made_by_messages)
def test_only_messages_carry_gradients(run):
    """moves gradients with point-to-point messages only"""
    answers = where_few_hold(run, CASES, assert_goes_all_the_way_round)
    for case, outcome in [*answers, *many_calls_that_go_round(run)]:
        with case_context(case, outcome):
            assert_carried_by_messages(outcome.trace, num_calls(outcome))


@points(0.5, requires=test_sums_are_made_by_messages)
def test_every_process_sends_to_one_neighbour(run):
    """sends to one neighbour and receives from the other"""
    for case, outcome in where_gradients_go_round(run):
        with case_context(case, outcome):
            assert_one_neighbour(outcome.trace)


@points(0.25, requires=test_sums_are_made_by_messages)
def test_sum_is_divided(run):
    """divides the complete sums by the number of ranks"""
    assert_on_few(run, CASES, assert_divided)


@points(0.5)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_any_number_of_processes_trains_as_one(run, ranks):
    """trains like one process on 2, 3, 4, and 8 ranks"""
    for case, outcome in run(ranks, CASES[ranks]).having(buffered_sends=False):
        assert_trained_as_one(case, outcome)
        with case_context(case, outcome):
            assert_carried_by_messages(outcome.trace, num_calls(outcome))
        if ranks == SHEETS_RANKS:
            assert_sums_come_from_payloads(run, [(case, outcome)])
    if ranks == SHEETS_RANKS:
        for case, outcome in answers_of_many_calls(run, CASES, MANY_CALLS):
            assert_trained_as_one(case, outcome)
            with case_context(case, outcome):
                assert_carried_by_messages(outcome.trace, num_calls(outcome))


# A barrier carries nothing: it breaks the rule, but not the ring, and costs only what comes here.
@points(0.5, requires=test_every_process_sends_to_one_neighbour)
def test_no_collective_is_called(run):
    """calls no collective, not even a barrier"""
    for case, outcome in where_gradients_go_round(run):
        with case_context(case, outcome):
            assert_only_point_to_point(outcome.trace)


@points(1, requires=test_only_messages_carry_gradients)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_every_process_sends_no_more_than_a_ring_needs(run, ranks):
    """sends at most 2(n-1)/n times the gradients' size per rank"""
    answers = run(ranks, CASES[ranks]).having(buffered_sends=False)
    if ranks != SHEETS_RANKS:  # what is wrong there only costs points where values are compared
        answers = answers.holding(assert_nearly_all_in_every_epoch)
    later = answers_of_many_calls(run, CASES, MANY_CALLS) if ranks == SHEETS_RANKS else []
    for case, outcome in [*answers, *later]:
        assert_nearly_all_in_every_epoch(case, outcome)
        with case_context(case, outcome):
            assert_ring_share(outcome.trace, num_calls(outcome))
            assert_ranks_send_together(outcome.trace)


@points(0.5, requires=test_every_process_sends_to_one_neighbour)
def test_calls_do_not_block(run):
    """sends and receives with non-blocking calls only"""
    for case, outcome in where_gradients_go_round(run):
        with case_context(case, outcome):
            assert_only_nonblocking(outcome.trace, also=functions.TORCH_COLLECTIVES)


@points(0.5, requires=test_every_process_sends_to_one_neighbour)
def test_every_request_is_completed(run):
    """waits for every request before returning"""
    answers = where_gradients_go_round(run)
    if any(case.buffered_sends for case, _ in answers):
        # The requests are those of the probe, which lets dist.send return.
        not_run("needs a call that returns (dist.send waits forever)")
    for case, outcome in answers:
        with case_context(case, outcome):
            assert_requests_completed(outcome.trace)


@points(0.75, requires=test_only_messages_carry_gradients)
@pytest.mark.parametrize("ranks", [SHEETS_RANKS])
def test_mean_is_exact_but_for_rounding(run, ranks):
    """computes the mean to within float32 rounding on 4 ranks"""
    answers = run(ranks, CASES[ranks]).having(buffered_sends=False)
    for case, outcome in [*answers, *answers_of_many_calls(run, CASES, MANY_CALLS)]:
        assert_trained_as_one(case, outcome)
        assert_mean_to_rounding(case, outcome)


@points(0.25, requires=test_only_messages_carry_gradients)
def test_all_processes_hold_the_very_same_parameters(run):
    """keeps the parameters identical on all ranks"""
    what = "sums at least 90% of the gradients"
    answers = where_several_hold(run, CASES, assert_nearly_all_in_every_epoch, what)
    for case, outcome in [*answers, *answers_of_many_calls(run, CASES, MANY_CALLS)]:
        assert_replicas_equal(case, outcome)


@points(
    0.25,
    requires=(
        test_any_number_of_processes_trains_as_one,
        test_every_process_sends_no_more_than_a_ring_needs,
        test_mean_is_exact_but_for_rounding,
        test_all_processes_hold_the_very_same_parameters,
    ),
)
@pytest.mark.parametrize("ranks", [1])
def test_one_process_trains_alone(run, ranks):
    """works on a single rank"""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained_as_one(case, outcome)


@stage(1.75)
def test_begins_with_chunks_around_the_ring(run):
    """starts passing chunks around the ring"""
    assert_begins(
        run, CASES, ALONE, assert_goes_all_the_way_round, begins_with_chunks, passes_chunks_on
    )


@stage(0.5)
def test_adds_what_a_neighbour_sends(run):
    """adds a neighbour's gradients"""
    answers = where_few_hold(run, CASES, assert_adds_a_neighbour)
    assert answers
    for _, outcome in answers:
        assert_added_by_messages(outcome.trace, num_calls(outcome), hops=1)
