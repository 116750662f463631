"""Naive all-reduce: every rank sends its array to every other and reduces them all."""

import pytest

from grader.api import (
    assert_answers_follow,
    assert_buffers_not_pickles,
    assert_naive_volume,
    assert_only_nonblocking,
    assert_only_point_to_point,
    assert_requests_completed,
    assert_time_ratio,
    part,
    points,
    stage,
)

from .allreduce_cases import cases_by_ranks, timing_cases
from .allreduce_proof import assert_results_come_from_messages, prove
from .allreduce_rules import (
    WRONG_DTYPE,
    assert_ability,
    assert_all_abilities,
    assert_late_messages_awaited,
    assert_rule,
    timed_check,
    timing_sends,
)
from .allreduce_stages import (
    assert_arrays_are_sent,
    assert_arrays_come_together,
    assert_broadcasts_in_turn,
    assert_exchange_has_begun,
    assert_name_is_misspelt,
)
from .allreduce_values import assert_reduced_by_messages, assert_send_unchanged

pytestmark = [part("naive_allreduce"), pytest.mark.mpi]

FILE, FUNCTION = "my_naive_allreduce.py", "allreduce"
CASES = cases_by_ranks(FILE, FUNCTION)


@points(0.25)
def test_results_come_from_the_messages(run):
    """computes the result from the messages it receives"""
    assert_results_come_from_messages(run, CASES)


@points(2.25, requires=test_results_come_from_the_messages)
def test_every_rank_sends_its_array_to_every_other(run):
    """sends each array once to every other rank"""
    assert_rule(
        run,
        CASES,
        lambda case, outcome: assert_naive_volume(
            outcome.trace, case.num_elements, case.item_num_bytes
        ),
    )
    proof = prove(run, CASES)
    if proof.is_right and proof.case.subject == "plain":
        # As much as is needed, and no more: so every message is.
        assert_answers_follow(proof.outcome.trace, proof.effects)


@points(0.25, requires=test_results_come_from_the_messages)
def test_three_processes(run):
    """works on 3 ranks"""
    for case, outcome in run(3, CASES[3]).having(subject="plain"):
        assert_reduced_by_messages(case, outcome)


@points(0.25, requires=test_results_come_from_the_messages)
@pytest.mark.parametrize("ranks", [2, 4])
def test_two_and_four_processes(run, ranks):
    """works on 2 and 4 ranks"""
    for case, outcome in run(ranks, CASES[ranks]).having(subject="plain"):
        assert_reduced_by_messages(case, outcome)


@points(0.25, requires=test_results_come_from_the_messages)
@pytest.mark.parametrize("ranks", [2, 4, 5, 8, 16])
def test_any_number_of_processes(run, ranks):
    """works on any number of ranks (2 to 16)"""
    for case, outcome in run(ranks, CASES[ranks]).having(subject="plain"):
        assert_reduced_by_messages(case, outcome)


RIGHT = (test_three_processes, test_two_and_four_processes)


@points(1.5, requires=RIGHT)
def test_all_inputs_and_numbers_of_processes(run):
    """works for all lengths, ops, and dtypes, on 1 to 16 ranks"""
    assert_all_abilities(run, CASES)


@points(0.25, requires=RIGHT)
def test_any_length(run):
    """works for any length, short or long"""
    assert_ability(run, CASES, "any length", "fewer elements")


@points(0.25, requires=RIGHT)
def test_no_elements(run):
    """accepts an empty array"""
    assert_ability(run, CASES, "no elements")


@points(0.25, requires=RIGHT)
def test_one_process(run):
    """copies send into recv on 1 rank"""
    assert_ability(run, CASES, "one process")


@points(0.25, requires=RIGHT)
def test_several_dimensions(run):
    """works for arrays of 2 and 3 dimensions"""
    assert_ability(run, CASES, "dimensions")


@points(0.25, requires=RIGHT)
def test_no_dimensions(run):
    """works for a scalar array, shape ()"""
    assert_ability(run, CASES, "no dimensions")


@points(0.5, requires=RIGHT)
def test_every_dtype(run):
    """works for float32 and int64"""
    assert_ability(run, CASES, "dtype", hint=WRONG_DTYPE)


@points(1.25, requires=RIGHT)
def test_any_op(run):
    """works for any op, not only np.add"""
    assert_ability(run, CASES, "op")


@points(0.25, requires=RIGHT)
def test_send_is_left_unchanged(run):
    """leaves send unchanged"""
    assert_rule(run, CASES, assert_send_unchanged)


@points(0.25, requires=RIGHT)
def test_works_when_no_message_is_buffered(run):
    """works without message buffering"""
    assert_ability(run, CASES, "unbuffered")


@points(1.5, requires=RIGHT)
def test_calls_in_a_row(run):
    """survives repeated calls with late ranks"""
    assert_ability(run, CASES, "in a row")
    assert_late_messages_awaited(run, CASES)


@points(0.25, requires=RIGHT)
def test_other_communicators(run):
    """uses only the given communicator"""
    assert_ability(run, CASES, "communicators")


@points(0.75, requires=test_results_come_from_the_messages)
def test_only_point_to_point_calls(run):
    """uses point-to-point calls only"""
    assert_rule(
        run,
        CASES,
        lambda case, outcome: assert_only_point_to_point(outcome.trace),
        any_way=True,
        everywhere=True,
    )


@points(1.25, requires=test_results_come_from_the_messages)
def test_calls_do_not_block(run):
    """uses non-blocking calls only"""
    assert_rule(
        run,
        CASES,
        lambda case, outcome: assert_only_nonblocking(outcome.trace),
        any_way=True,
        everywhere=True,
    )


@points(0.25, requires=test_results_come_from_the_messages)
def test_arrays_travel_as_buffers(run):
    """sends arrays as buffers, not pickled"""
    assert_rule(
        run,
        CASES,
        lambda case, outcome: assert_buffers_not_pickles(outcome.trace),
        everywhere=True,
    )


@points(0.25, requires=test_results_come_from_the_messages)
def test_receives_are_completed(run):
    """waits for every receive before returning"""
    assert_rule(
        run,
        CASES,
        lambda case, outcome: assert_requests_completed(outcome.trace, only="receives"),
        everywhere=True,
    )


@points(2.25, requires=test_results_come_from_the_messages)
def test_sends_are_completed(run):
    """waits for every send before returning"""
    assert_rule(
        run,
        CASES,
        lambda case, outcome: assert_requests_completed(outcome.trace, only="sends"),
        everywhere=True,
    )


@points(0.25, requires=RIGHT)
def test_keeps_up_with_mpi(run):
    """takes at most 20x the time of MPI's Allreduce"""
    with timing_sends(run, CASES):
        assert_time_ratio(
            lambda attempt: run(2, timing_cases(FILE, FUNCTION, attempt) if attempt else CASES[2]),
            check=timed_check(run, CASES),
            factor=20,
            what="allreduce on 2 ranks, 6 MiB,",
            yardstick="MPI's own Allreduce of the same length",
        )


@stage(7.5)
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
    """stops at a misspelt MPI send or receive"""
    assert_name_is_misspelt(run, CASES)


@stage(1.5)
def test_arrays_are_sent(run):
    """sends its array to other ranks"""
    assert_arrays_are_sent(run, CASES)
