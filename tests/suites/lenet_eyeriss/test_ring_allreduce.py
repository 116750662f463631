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
)

from .gradient_traffic import (
    assert_added_by_messages,
    assert_carried_by_messages,
    assert_ring_share,
)
from .over_ranks import assert_on_few, where_few_hold, where_several_hold
from .proof import assert_sums_come_from_payloads
from .shares import num_epochs
from .sum_checks import (
    assert_chunk_complete,
    assert_divided,
    assert_goes_all_the_way_round,
    assert_nearly_all_in_every_epoch,
)
from .training_cases import OTHER_RANKS, SEVERAL_RANKS, SHEETS_RANKS, ring_cases
from .training_checks import (
    assert_mean_to_rounding,
    assert_replicas_equal,
    assert_trained_as_one,
)

pytestmark = [part("ring_allreduce"), pytest.mark.mpi]

CASES = {ranks: ring_cases(ranks) for ranks in [1, *SEVERAL_RANKS]}
GOES_ROUND = "the gradients of every process come to every other one"


@points(0)
def test_sums_are_made_by_messages(run):
    """The gradients are added up by point-to-point messages, not by a collective."""
    answers = where_few_hold(run, CASES, assert_goes_all_the_way_round)
    for case, outcome in answers:
        with case_context(case, outcome):
            assert_added_by_messages(outcome.trace, num_epochs(outcome))
    assert_sums_come_from_payloads(run, answers)


@points(0, requires=test_sums_are_made_by_messages)
def test_only_messages_carry_gradients(run):
    """Point-to-point messages alone carry gradients; a barrier carries nothing."""
    for case, outcome in where_few_hold(run, CASES, assert_goes_all_the_way_round):
        with case_context(case, outcome):
            assert_carried_by_messages(outcome.trace, num_epochs(outcome))


@points(0.5, requires=test_sums_are_made_by_messages)
def test_every_process_sends_to_one_neighbour(run):
    """Each process sends only to its next neighbour and receives only from the other one."""
    answers = where_several_hold(run, CASES, assert_goes_all_the_way_round, GOES_ROUND)
    for case, outcome in answers:
        with case_context(case, outcome):
            assert_one_neighbour(outcome.trace)


@points(0.25, requires=test_every_process_sends_to_one_neighbour)
def test_gradients_go_all_the_way_round(run):
    """With 3 or 4 processes, the gradients of every process come to every other one."""
    assert_on_few(run, CASES, assert_goes_all_the_way_round)


@points(0.25, requires=test_every_process_sends_to_one_neighbour)
def test_every_process_completes_a_chunk(run):
    """With 3 or 4 processes, each ends with at least a chunk that is the sum over all processes."""
    assert_on_few(run, CASES, assert_chunk_complete)


@points(0.25, requires=test_only_messages_carry_gradients)
@pytest.mark.parametrize("ranks", [SHEETS_RANKS])
def test_four_processes_get_nearly_all_sums(run, ranks):
    """With 4 processes, 9 of 10 gradients of each become the sum over all, in every epoch."""
    for case, outcome in run(ranks, CASES[ranks]).having(buffered_sends=False):
        assert_nearly_all_in_every_epoch(case, outcome)


@points(
    0.25, requires=(test_every_process_completes_a_chunk, test_four_processes_get_nearly_all_sums)
)
def test_sum_is_divided(run):
    """What is summed completely is divided by the number of processes."""
    assert_on_few(run, CASES, assert_divided)


@points(0.5)
@pytest.mark.parametrize("ranks", [SHEETS_RANKS])
def test_four_processes_train_as_one(run, ranks):
    """After every epoch, 4 processes with 25 images each hold what one with all 100 does."""
    for case, outcome in run(ranks, CASES[ranks]).having(buffered_sends=False):
        assert_trained_as_one(case, outcome)
        with case_context(case, outcome):
            assert_carried_by_messages(outcome.trace, case.epochs)
        assert_sums_come_from_payloads(run, [(case, outcome)])


@points(0.25, requires=test_four_processes_get_nearly_all_sums)
@pytest.mark.parametrize("ranks", OTHER_RANKS)
def test_any_number_of_processes_trains_as_one(run, ranks):
    """So do 2, 3 and 8 processes, whether or not the chunks are of equal length."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained_as_one(case, outcome)


@points(
    0.25, requires=(test_every_process_completes_a_chunk, test_four_processes_get_nearly_all_sums)
)
@pytest.mark.parametrize("ranks", [1])
def test_one_process_trains_alone(run, ranks):
    """One process alone keeps its own gradients, which are the mean."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained_as_one(case, outcome)


# A barrier carries nothing: it breaks the rule, but not the ring, and costs only what comes here.
@points(0.25, requires=test_sums_are_made_by_messages)
def test_no_collective_is_called(run):
    """There is no collective of any kind, not even a barrier."""
    answers = where_several_hold(run, CASES, assert_goes_all_the_way_round, GOES_ROUND)
    for case, outcome in answers:
        with case_context(case, outcome):
            assert_only_point_to_point(outcome.trace)


@points(1, requires=test_four_processes_get_nearly_all_sums)
def test_every_process_sends_no_more_than_a_ring_needs(run):
    """Each of n processes sends 2 (n-1)/n of the gradients per epoch (padded chunks allowed)."""
    what = "nearly all gradients are summed up"
    for case, outcome in where_several_hold(run, CASES, assert_nearly_all_in_every_epoch, what):
        with case_context(case, outcome):
            assert_ring_share(outcome.trace, case.epochs)


@points(0.25, requires=test_sums_are_made_by_messages)
def test_calls_do_not_block(run):
    """Messages are sent and received by isend and irecv; only waiting for them may block."""
    answers = where_several_hold(run, CASES, assert_goes_all_the_way_round, GOES_ROUND)
    for case, outcome in answers:
        with case_context(case, outcome):
            assert_only_nonblocking(outcome.trace, also=functions.TORCH_COLLECTIVES)


@points(0.5, requires=test_sums_are_made_by_messages)
def test_every_request_is_completed(run):
    """Everything that isend and irecv returned has been waited for when the call returns."""
    answers = where_several_hold(run, CASES, assert_goes_all_the_way_round, GOES_ROUND)
    if any(case.buffered_sends for case, _ in answers):
        # The requests are those of the probe, which lets dist.send return.
        not_run("as dist.send waits for ever, the call never returns")
    for case, outcome in answers:
        with case_context(case, outcome):
            assert_requests_completed(outcome.trace)


@points(0.25, requires=test_only_messages_carry_gradients)
def test_mean_is_exact_but_for_rounding(run):
    """Each gradient is the mean over all processes, exact but for rounding in float32."""
    what = "the processes train as one"
    for case, outcome in where_several_hold(run, CASES, assert_trained_as_one, what):
        assert_mean_to_rounding(case, outcome)


@points(0.25, requires=test_only_messages_carry_gradients)
def test_all_processes_hold_the_very_same_parameters(run):
    """After every epoch the parameters are the same on all processes, to the last bit."""
    what = "nearly all gradients are summed up"
    for case, outcome in where_several_hold(run, CASES, assert_nearly_all_in_every_epoch, what):
        assert_replicas_equal(case, outcome)
