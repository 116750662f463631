"""Naive all-reduce: every rank sends its array to every other and reduces them all."""

from functools import partial

import pytest

from grader.api import assert_answers_follow, assert_naive_volume, part, points, stage

from .allreduce_cases import ReductionsInARow, cases_by_ranks
from .allreduce_proof import prove
from .allreduce_rules import assert_ability, assert_late_messages_awaited, assert_rule
from .allreduce_stages import (
    assert_arrays_are_sent,
    assert_arrays_come_together,
    assert_broadcasts_in_turn,
    assert_exchange_has_begun,
    assert_name_is_misspelt,
)
from .shared_allreduce_tests import shared_tests

pytestmark = [part("naive_allreduce"), pytest.mark.mpi]

FILE, FUNCTION = "my_naive_allreduce.py", "allreduce"
CASES = cases_by_ranks(FILE, FUNCTION)
SHARED = shared_tests(FILE, FUNCTION, CASES)

test_results_come_from_the_messages = points(0.25)(SHARED.test_results_come_from_the_messages)
from_messages = partial(points, requires=test_results_come_from_the_messages)


@from_messages(2.25)
def test_every_rank_sends_its_array_to_every_other(run):
    """sends each array once to every other rank"""

    def rule(case, outcome):
        if not isinstance(case, ReductionsInARow):
            assert_naive_volume(outcome.trace, case.num_elements, case.item_num_bytes)

    assert_rule(run, CASES, rule, everywhere=True)
    proof = prove(run, CASES)
    if proof.is_right and proof.case.subject == "plain":
        # As much as is needed, and no more: so every message is.
        assert_answers_follow(proof.outcome.trace, proof.effects)


test_three_processes = from_messages(0.25)(SHARED.test_three_processes)
test_two_and_four_processes = from_messages(0.25)(SHARED.test_two_and_four_processes)
test_any_number_of_processes = from_messages(0.25)(SHARED.test_any_number_of_processes)
correct = partial(points, requires=(test_three_processes, test_two_and_four_processes))
test_all_inputs_and_numbers_of_processes = correct(1.5)(
    SHARED.test_all_inputs_and_numbers_of_processes
)


@correct(0.25)
def test_any_length(run):
    """works for any length, short or long"""
    assert_ability(run, CASES, "any length", "fewer elements")


test_no_elements = correct(0.25)(SHARED.test_no_elements)
test_one_process = correct(0.25)(SHARED.test_one_process)
test_several_dimensions = correct(0.25)(SHARED.test_several_dimensions)
test_no_dimensions = correct(0.25)(SHARED.test_no_dimensions)
test_every_dtype = correct(0.5)(SHARED.test_every_dtype)
test_any_op = correct(1.25)(SHARED.test_any_op)
test_send_is_left_unchanged = correct(0.25)(SHARED.test_send_is_left_unchanged)
test_works_when_no_message_is_buffered = correct(0.25)(
    SHARED.test_works_when_no_message_is_buffered
)


@correct(1.5)
def test_calls_in_a_row(run):
    """survives repeated calls with late ranks"""
    assert_ability(run, CASES, "in a row")
    assert_late_messages_awaited(run, CASES)


test_other_communicators = correct(0.25)(SHARED.test_other_communicators)
test_only_point_to_point_calls = from_messages(0.75)(SHARED.test_only_point_to_point_calls)
test_calls_do_not_block = from_messages(1.25)(SHARED.test_calls_do_not_block)
test_arrays_travel_as_buffers = from_messages(0.25)(SHARED.test_arrays_travel_as_buffers)
test_receives_are_completed = from_messages(0.25)(SHARED.test_receives_are_completed)
test_sends_are_completed = from_messages(2.25)(SHARED.test_sends_are_completed)
test_keeps_up_with_mpi = correct(0.25)(SHARED.test_keeps_up_with_mpi)


# Readers pay 50 and 50 %, three others 20 to 25 % of a like one.
@stage(5)
def test_broadcasts_in_turn(run):
    """sends each array to all other ranks with a broadcast"""
    assert_broadcasts_in_turn(run, CASES)


@stage(6)
def test_arrays_come_together(run):
    """exchanges whole arrays in messages"""
    assert_arrays_come_together(run, CASES)


@stage(6)
def test_exchange_has_begun(run):
    """starts to exchange whole arrays before it fails"""
    assert_exchange_has_begun(run, CASES)


@stage(6)
def test_name_is_misspelt(run):
    """sends enough with its misspelt MPI call corrected"""
    assert_name_is_misspelt(run, CASES)


@stage(1.5)
def test_arrays_are_sent(run):
    """sends its array to other ranks"""
    assert_arrays_are_sent(run, CASES)
