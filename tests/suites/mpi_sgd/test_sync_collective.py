"""Synchronous training: an MPI collective sums the gradients of a step."""

import pytest

from grader.api import assert_requests_completed, part, points, stage

from .shared_sync_tests import shared_tests
from .summing import assert_collectives_carry_gradients, assert_gradients_given_once
from .sync_cases import (
    Check,
    Run,
    assert_all_weights_are_used,
    assert_every_rank_gets_all_gradients,
    assert_gradients_are_used,
    assert_gradients_come_together_somewhere,
    assert_half_of_weights_are_used,
    assert_rule,
    assert_stays_together,
    cases_by_ranks,
)
from .sync_proof import assert_gradients_come_through_mpi
from .sync_stages import (
    assert_shown_before_failing,
    calls_a_collective_on_some_ranks,
    fails_in_a_collective,
    gives_a_step_to_collectives,
)

pytestmark = [part("sync_collective"), pytest.mark.mpi]

FILE = "sync_network_collective.py"
CASES = cases_by_ranks(FILE, has_messages=False)
SHARED = shared_tests(FILE, CASES)


def assert_come_together(run: Run, used: Check, least_ranks: int) -> None:
    """Assert that gradients of all ranks come together, and by what is sent."""
    assert_gradients_come_together_somewhere(run, CASES, used, least_ranks)
    assert_gradients_come_through_mpi(run, CASES, used)


@points(0.75)
def test_gradients_come_together(run):
    """gives every rank the gradients of all ranks"""
    assert_come_together(run, assert_every_rank_gets_all_gradients, least_ranks=3)
    assert_stays_together(run, CASES)


test_every_process_takes_the_summed_step = points(0.5, requires=test_gradients_come_together)(
    SHARED.test_every_process_takes_the_summed_step
)
test_several_steps = points(0.5, requires=test_every_process_takes_the_summed_step)(
    SHARED.test_several_steps
)
test_several_epochs = points(1.25, requires=test_every_process_takes_the_summed_step)(
    SHARED.test_several_epochs
)
test_many_processes = points(0.25, requires=test_every_process_takes_the_summed_step)(
    SHARED.test_many_processes
)
test_one_process = points(1, requires=test_gradients_come_together)(SHARED.test_one_process)
test_gradients_are_not_rounded = points(1, requires=test_every_process_takes_the_summed_step)(
    SHARED.test_gradients_are_not_rounded
)
test_batches_are_shared_out = points(1.5)(SHARED.test_batches_are_shared_out)


@points(2, requires=test_gradients_come_together)
def test_a_collective_brings_the_gradients_together(run):
    """combines the gradients with an MPI collective"""
    assert_rule(run, CASES, assert_collectives_carry_gradients)


@points(0.25, requires=test_a_collective_brings_the_gradients_together)
def test_a_step_sends_the_gradients_once(run):
    """passes the gradients to a collective once per step"""
    assert_rule(run, CASES, assert_gradients_given_once)


test_buffers_not_pickles = points(1.25, requires=test_a_collective_brings_the_gradients_together)(
    SHARED.test_buffers_not_pickles
)


@points(1.25, requires=test_a_collective_brings_the_gradients_together)
def test_every_request_is_completed(run):
    """completes every request"""

    def rule(case, outcome):
        assert_requests_completed(outcome.trace, may_be_silent=True)

    assert_rule(run, CASES, rule)


test_works_as_a_program_of_its_own = points(
    1.75, requires=test_every_process_takes_the_summed_step
)(SHARED.test_works_as_a_program_of_its_own)
test_ends_as_a_program_of_its_own = points(1.5, requires=test_gradients_come_together)(
    SHARED.test_ends_as_a_program_of_its_own
)
test_keeps_up_with_serial_training = points(0.25, requires=test_gradients_come_together)(
    SHARED.test_keeps_up_with_serial_training
)


# Three readers pay 60 to 62 %.
@stage(9)
def test_gradients_of_all_weights_come_together(run):
    """combines all ranks' gradients in all weights"""
    assert_come_together(run, assert_all_weights_are_used, least_ranks=3)
    assert_stays_together(run, CASES)


# Three readers pay 55 to 62 % for all layers but one, and we 40 % for one layer alone.
@stage(7.5)
def test_gradients_of_half_of_the_weights_come_together(run):
    """combines all ranks' gradients in half of the weights"""
    assert_come_together(run, assert_half_of_weights_are_used, least_ranks=3)
    assert_stays_together(run, CASES)


@stage(6)
def test_some_gradients_come_together(run):
    """combines all ranks' gradients in at least one array"""
    assert_come_together(run, assert_gradients_are_used, least_ranks=2)


@stage(6)
def test_a_step_is_given_to_collectives(run):
    """passes the gradients of a step to collectives"""
    assert_shown_before_failing(run, CASES, gives_a_step_to_collectives)


@stage(6)
def test_the_call_of_a_collective_fails(run):
    """calls a collective, but the call raises an error"""
    assert_shown_before_failing(run, CASES, fails_in_a_collective)


@stage(3.75)
def test_some_ranks_call_a_collective(run):
    """calls a collective on all ranks but one"""
    assert_shown_before_failing(run, CASES, calls_a_collective_on_some_ranks)
