"""Ring all-reduce: reduce-scatter, then all-gather, each rank talking to one neighbour only."""

from functools import partial

import pytest

from grader.api import (
    assert_not_truncated,
    assert_one_neighbour,
    assert_ring_influence,
    assert_ring_volume,
    part,
    points,
    stage,
)

from .allreduce_cases import ReductionsInARow, cases_by_ranks
from .allreduce_proof import (
    assert_chunks_are_passed_on,
    assert_chunks_at_other_lengths,
    assert_chunks_go_to_neighbours,
    assert_ranks_send_together,
    prove,
)
from .allreduce_rules import assert_ability, assert_all_abilities, assert_rule
from .allreduce_stages import (
    assert_name_is_misspelt,
    assert_neighbours_are_sent_to,
    assert_right_by_messages,
    assert_ring_has_begun,
    assert_ring_is_complete,
    assert_ring_is_not_waited_for,
    assert_sums_go_around_a_ring,
)
from .shared_allreduce_tests import shared_tests

pytestmark = [part("ring_allreduce"), pytest.mark.mpi]

FILE, FUNCTION = "my_ring_allreduce.py", "ringallreduce"
CASES = cases_by_ranks(FILE, FUNCTION)
SHARED = shared_tests(FILE, FUNCTION, CASES)

test_results_come_from_the_messages = points(0.25)(SHARED.test_results_come_from_the_messages)
from_messages = partial(points, requires=test_results_come_from_the_messages)


@from_messages(0.25)
def test_chunks_are_passed_on(run):
    """passes chunks on from rank to rank"""
    assert_chunks_are_passed_on(run, CASES)
    assert_chunks_go_to_neighbours(run, CASES)
    assert_chunks_at_other_lengths(run, CASES, divisible=True)


passed_on = partial(points, requires=test_chunks_are_passed_on)
test_three_processes = from_messages(0.5)(SHARED.test_three_processes)
test_two_and_four_processes = from_messages(0.25)(SHARED.test_two_and_four_processes)
test_any_number_of_processes = from_messages(0.25)(SHARED.test_any_number_of_processes)


@passed_on(3.25)
def test_all_inputs_and_numbers_of_processes(run):
    """works for all lengths, ops, and dtypes, on 1 to 16 ranks"""
    assert_all_abilities(run, CASES)
    assert_chunks_at_other_lengths(run, CASES, divisible=False)


@passed_on(2)
def test_any_length(run):
    """works for lengths not divisible by the number of ranks"""
    assert_ability(run, CASES, "any length")
    assert_chunks_at_other_lengths(run, CASES, divisible=False)


@passed_on(0.5)
def test_fewer_elements_than_processes(run):
    """works for arrays shorter than the number of ranks"""
    assert_ability(run, CASES, "fewer elements")


test_no_elements = passed_on(0.5)(SHARED.test_no_elements)
test_one_process = passed_on(0.75)(SHARED.test_one_process)
test_several_dimensions = passed_on(1.25)(SHARED.test_several_dimensions)
test_no_dimensions = passed_on(0.75)(SHARED.test_no_dimensions)
test_every_dtype = passed_on(0.25)(SHARED.test_every_dtype)
test_any_op = passed_on(0.5)(SHARED.test_any_op)
test_send_is_left_unchanged = passed_on(0.5)(SHARED.test_send_is_left_unchanged)
test_works_when_no_message_is_buffered = passed_on(2.25)(
    SHARED.test_works_when_no_message_is_buffered
)


@passed_on(0.5)
def test_calls_in_a_row(run):
    """survives repeated calls with late ranks"""
    assert_ability(run, CASES, "in a row")


test_other_communicators = passed_on(0.5)(SHARED.test_other_communicators)
test_only_point_to_point_calls = passed_on(0.75)(SHARED.test_only_point_to_point_calls)


@passed_on(1.5)
def test_one_neighbour(run):
    """sends to one neighbour only, from all ranks in each step"""
    assert_rule(
        run, CASES, lambda case, outcome: assert_one_neighbour(outcome.trace), everywhere=True
    )
    assert_ranks_send_together(run, CASES)


@passed_on(0.5)
def test_no_more_than_a_ring_needs(run):
    """sends 2(n - 1)/n of the array per rank

    The last chunk may be padded.
    """

    def rule(case, outcome):
        if isinstance(case, ReductionsInARow):
            return
        # What is missing of a long array's calls was not kept.
        assert_not_truncated(outcome.trace)
        # Chunks of whole rows are as correct as chunks of the flat array.
        grain = case.row_num_elements
        assert_ring_volume(outcome.trace, case.num_elements, case.item_num_bytes, grain=grain)

    assert_rule(run, CASES, rule, everywhere=True)
    proof = prove(run, CASES)
    if proof.is_right and proof.case.subject == "plain":
        # As much as is needed, and no more: so every message is.
        assert_ring_influence(proof.outcome.trace, proof.effects)


test_calls_do_not_block = passed_on(2)(SHARED.test_calls_do_not_block)
test_arrays_travel_as_buffers = passed_on(0.5)(SHARED.test_arrays_travel_as_buffers)
test_receives_are_completed = passed_on(0.25)(SHARED.test_receives_are_completed)
test_sends_are_completed = passed_on(3)(SHARED.test_sends_are_completed)
test_keeps_up_with_mpi = passed_on(1.5)(SHARED.test_keeps_up_with_mpi)


@stage(12)
def test_ring_is_complete(run):
    """sends all the chunks a ring needs, and passes them on"""
    assert_ring_is_complete(run, CASES)


# Two readers pay 49 % where a collective does the rest, and 60 % where each rank sends its chunk
# to all others.
@stage(13)
def test_sums_go_around_a_ring(run):
    """sums chunks around a ring, but shares them in another way"""
    assert_sums_go_around_a_ring(run, CASES)


@stage(10)
def test_right_by_messages(run):
    """gets correct results from messages, though not in a ring"""
    assert_right_by_messages(run, CASES)


@stage(9)
def test_ring_is_not_waited_for(run):
    """sends all the chunks a ring needs, but waits for no receive"""
    assert_ring_is_not_waited_for(run, CASES)


@stage(9)
def test_name_is_misspelt(run):
    """sends enough with its misspelt MPI call corrected"""
    assert_name_is_misspelt(run, CASES)


# A ring that hangs after its first phase has done no more.
@stage(8)
def test_ring_has_begun(run):
    """starts like a ring, with a chunk for one neighbour"""
    assert_ring_has_begun(run, CASES)


@stage(2.5)
def test_neighbours_are_sent_to(run):
    """sends to a neighbour"""
    assert_neighbours_are_sent_to(run, CASES)
