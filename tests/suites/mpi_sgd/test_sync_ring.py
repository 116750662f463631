"""Synchronous training: the student's own ring all-reduce sums the gradients of a step."""

import pytest

from grader.api import (
    assert_one_neighbour,
    assert_only_point_to_point,
    assert_requests_completed,
    call_place,
    part,
    points,
    stage,
)

from .shared_sync_tests import shared_tests
from .summing import (
    assert_messages_carry_gradients,
    assert_ring_traffic,
    gradient_num_bytes,
    sent_by_hand,
)
from .sync_cases import (
    FEW_RANKS,
    UNBUFFERED,
    Check,
    Run,
    assert_all_weights_are_used,
    assert_every_rank_gets_all_gradients,
    assert_gradients_are_used,
    assert_gradients_come_together_somewhere,
    assert_half_of_weights_are_used,
    assert_rule,
    assert_stays_together,
    assert_trained_as_one_process,
    cases_by_ranks,
)
from .sync_proof import assert_gradients_come_from_messages
from .sync_stages import (
    assert_shown_before_failing,
    fails_in_a_call_of,
    sends_a_step_around_a_ring,
    sends_to_one_neighbour_on_some_ranks,
)

pytestmark = [part("sync_ring"), pytest.mark.mpi]

FILE = "sync_network.py"
CASES = cases_by_ranks(FILE, has_messages=True)
OWN = "ring_allreduce"
SHARED = shared_tests(FILE, CASES)


def assert_come_together(run: Run, used: Check, least_ranks: int) -> None:
    """Assert that gradients of all ranks come together in point-to-point messages."""
    assert_gradients_come_together_somewhere(run, CASES, used, least_ranks)
    assert_rule(run, CASES, assert_messages_carry_gradients, used)
    assert_gradients_come_from_messages(run, CASES, used)


@points(0.25)
def test_gradients_come_together(run):
    """gives every rank all gradients in point-to-point messages"""
    assert_come_together(run, assert_every_rank_gets_all_gradients, least_ranks=3)
    assert_stays_together(run, CASES)


@points(0.5, requires=test_gradients_come_together)
@pytest.mark.parametrize("ranks", FEW_RANKS)
def test_every_process_takes_the_summed_step(run, ranks):
    """matches serial training after one step, by a ring, at once"""

    def rule(case, outcome):
        # A mistake in the ring's own file has its price below, and so has a loss in a message.
        own = [call for _, call in sent_by_hand(outcome.trace) if call_place(call).startswith(FILE)]
        if 2 * sum(call.num_bytes for call in own) >= gradient_num_bytes(case):
            assert_one_neighbour(outcome.trace)

    SHARED.test_every_process_takes_the_summed_step(run, ranks)
    assert_rule(run, CASES, rule)


test_several_steps = points(0.25, requires=test_every_process_takes_the_summed_step)(
    SHARED.test_several_steps
)
test_several_epochs = points(0.25, requires=test_every_process_takes_the_summed_step)(
    SHARED.test_several_epochs
)
test_many_processes = points(0.25, requires=test_every_process_takes_the_summed_step)(
    SHARED.test_many_processes
)
test_one_process = points(0.75, requires=test_gradients_come_together)(SHARED.test_one_process)
test_gradients_are_not_rounded = points(1, requires=test_every_process_takes_the_summed_step)(
    SHARED.test_gradients_are_not_rounded
)
test_batches_are_shared_out = points(1.5)(SHARED.test_batches_are_shared_out)


@points(0.75, requires=test_every_process_takes_the_summed_step, own=OWN)
@pytest.mark.parametrize("ranks", FEW_RANKS)
def test_works_when_no_message_is_buffered(run, ranks):
    """works without message buffering"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=UNBUFFERED):
        assert_trained_as_one_process(case, outcome)


@points(1, requires=test_gradients_come_together, own=OWN)
def test_nothing_but_point_to_point_calls(run):
    """uses point-to-point calls only"""
    assert_rule(run, CASES, lambda case, outcome: assert_only_point_to_point(outcome.trace))


@points(1.5, requires=test_gradients_come_together, own=OWN)
def test_gradients_travel_around_a_ring(run):
    """sends the gradients around a ring

    Two steps more than a ring needs do no harm here; whole arrays on 4 ranks are more.
    """

    def rule(case, outcome):
        assert_one_neighbour(outcome.trace)
        assert_ring_traffic(case, outcome, most_times=outcome.ranks / max(outcome.ranks - 1, 1))

    assert_rule(run, CASES, rule)


@points(0.75, requires=test_gradients_travel_around_a_ring, own=OWN)
def test_no_more_than_rings_need(run):
    """sends no more per step than a ring needs

    Last chunks may be padded.
    """
    assert_rule(run, CASES, assert_ring_traffic)


test_buffers_not_pickles = points(1.25, requires=test_gradients_come_together, own=OWN)(
    SHARED.test_buffers_not_pickles
)


@points(1.25, requires=test_gradients_come_together, own=OWN)
def test_every_request_is_completed(run):
    """completes every request"""
    assert_rule(run, CASES, lambda case, outcome: assert_requests_completed(outcome.trace))


test_works_as_a_program_of_its_own = points(2, requires=test_every_process_takes_the_summed_step)(
    SHARED.test_works_as_a_program_of_its_own
)
test_ends_as_a_program_of_its_own = points(1.5, requires=test_gradients_come_together)(
    SHARED.test_ends_as_a_program_of_its_own
)
test_keeps_up_with_serial_training = points(0.25, requires=test_gradients_come_together)(
    SHARED.test_keeps_up_with_serial_training
)


# Three readers pay 60 to 62 %. Less than the 8.5 points of a second grading with our ring.
@stage(8.25, own=OWN)
def test_gradients_of_all_weights_come_together(run):
    """combines all ranks' gradients in all weights"""
    assert_come_together(run, assert_all_weights_are_used, least_ranks=3)
    assert_stays_together(run, CASES)


# Three readers pay 55 to 62 % for all layers but one, and we 40 % for one layer alone.
@stage(7.5, own=OWN)
def test_gradients_of_half_of_the_weights_come_together(run):
    """combines all ranks' gradients in half of the weights"""
    assert_come_together(run, assert_half_of_weights_are_used, least_ranks=3)
    assert_stays_together(run, CASES)


@stage(6, own=OWN)
def test_some_gradients_come_together(run):
    """combines all ranks' gradients in at least one array"""
    assert_come_together(run, assert_gradients_are_used, least_ranks=2)


@stage(6, own=OWN)
def test_a_step_is_sent_around_a_ring(run):
    """sends the gradients of a step around a ring"""
    assert_shown_before_failing(run, CASES, sends_a_step_around_a_ring)


@stage(6, own=OWN)
def test_the_call_of_the_ring_fails(run):
    """calls ringallreduce, but the call raises an error"""
    assert_shown_before_failing(run, CASES, fails_in_a_call_of("ringallreduce"))


@stage(3.75, own=OWN)
def test_some_ranks_send_to_a_neighbour(run):
    """sends to one neighbour on all ranks but one"""
    assert_shown_before_failing(run, CASES, sends_to_one_neighbour_on_some_ranks)
