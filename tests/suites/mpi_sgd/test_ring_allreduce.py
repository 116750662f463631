"""Ring all-reduce: reduce-scatter, then all-gather, each rank talking to one neighbour only."""

import pytest

from grader.api import (
    assert_buffers_not_pickles,
    assert_not_truncated,
    assert_one_neighbour,
    assert_only_nonblocking,
    assert_only_point_to_point,
    assert_requests_completed,
    assert_ring_influence,
    assert_ring_volume,
    assert_time_ratio,
    part,
    points,
    stage,
)

from .allreduce_cases import ReductionsInARow, cases_by_ranks, timing_cases
from .allreduce_proof import assert_chunks_are_passed_on, assert_results_come_from_messages, prove
from .allreduce_rules import (
    WRONG_DTYPE,
    assert_ability,
    assert_all_abilities,
    assert_rule,
    timed_check,
    timing_sends,
)
from .allreduce_stages import (
    assert_name_is_misspelt,
    assert_neighbours_are_sent_to,
    assert_right_by_messages,
    assert_ring_has_begun,
    assert_ring_is_complete,
    assert_ring_is_not_waited_for,
    assert_sums_go_around_a_ring,
)
from .allreduce_values import assert_reduced_by_messages, assert_send_unchanged

pytestmark = [part("ring_allreduce"), pytest.mark.mpi]

FILE, FUNCTION = "my_ring_allreduce.py", "ringallreduce"
CASES = cases_by_ranks(FILE, FUNCTION)


@points(0.25)
def test_results_come_from_the_messages(run):
    """computes the result from the messages it receives"""
    assert_results_come_from_messages(run, CASES)


@points(0.25, requires=test_results_come_from_the_messages)
def test_chunks_are_passed_on(run):
    """passes chunks on from rank to rank"""
    assert_chunks_are_passed_on(run, CASES)


@points(0.5, requires=test_results_come_from_the_messages)
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


@points(3.25, requires=test_chunks_are_passed_on)
def test_all_inputs_and_numbers_of_processes(run):
    """works for all lengths, ops, and dtypes, on 1 to 16 ranks"""
    assert_all_abilities(run, CASES)


@points(2, requires=test_chunks_are_passed_on)
def test_any_length(run):
    """works for lengths not divisible by the number of ranks"""
    assert_ability(run, CASES, "any length")


@points(0.5, requires=test_chunks_are_passed_on)
def test_fewer_elements_than_processes(run):
    """works for arrays shorter than the number of ranks"""
    assert_ability(run, CASES, "fewer elements")


@points(0.5, requires=test_chunks_are_passed_on)
def test_no_elements(run):
    """accepts an empty array"""
    assert_ability(run, CASES, "no elements")


@points(0.75, requires=test_chunks_are_passed_on)
def test_one_process(run):
    """copies send into recv on 1 rank"""
    assert_ability(run, CASES, "one process")


@points(1.25, requires=test_chunks_are_passed_on)
def test_several_dimensions(run):
    """works for arrays of 2 and 3 dimensions"""
    assert_ability(run, CASES, "dimensions")


@points(0.75, requires=test_chunks_are_passed_on)
def test_no_dimensions(run):
    """works for a scalar array, shape ()"""
    assert_ability(run, CASES, "no dimensions")


@points(0.25, requires=test_chunks_are_passed_on)
def test_every_dtype(run):
    """works for float32 and int64"""
    assert_ability(run, CASES, "dtype", hint=WRONG_DTYPE)


@points(0.5, requires=test_chunks_are_passed_on)
def test_any_op(run):
    """works for any op, not only np.add"""
    assert_ability(run, CASES, "op")


@points(0.5, requires=test_chunks_are_passed_on)
def test_send_is_left_unchanged(run):
    """leaves send unchanged"""
    assert_rule(run, CASES, assert_send_unchanged)


@points(2.25, requires=test_chunks_are_passed_on)
def test_works_when_no_message_is_buffered(run):
    """works without message buffering"""
    assert_ability(run, CASES, "unbuffered")


@points(0.5, requires=test_chunks_are_passed_on)
def test_calls_in_a_row(run):
    """survives repeated calls with late ranks"""
    assert_ability(run, CASES, "in a row")


@points(0.5, requires=test_chunks_are_passed_on)
def test_other_communicators(run):
    """uses only the given communicator"""
    assert_ability(run, CASES, "communicators")


@points(0.75, requires=test_chunks_are_passed_on)
def test_only_point_to_point_calls(run):
    """uses point-to-point calls only"""
    assert_rule(
        run,
        CASES,
        lambda case, outcome: assert_only_point_to_point(outcome.trace),
        any_way=True,
        everywhere=True,
    )


@points(1.5, requires=test_chunks_are_passed_on)
def test_one_neighbour(run):
    """sends to one neighbour only, in one direction"""
    assert_rule(
        run, CASES, lambda case, outcome: assert_one_neighbour(outcome.trace), everywhere=True
    )


@points(0.5, requires=test_chunks_are_passed_on)
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


@points(2, requires=test_chunks_are_passed_on)
def test_calls_do_not_block(run):
    """uses non-blocking calls only"""
    assert_rule(
        run,
        CASES,
        lambda case, outcome: assert_only_nonblocking(outcome.trace),
        any_way=True,
        everywhere=True,
    )


@points(0.5, requires=test_chunks_are_passed_on)
def test_arrays_travel_as_buffers(run):
    """sends arrays as buffers, not pickled"""
    assert_rule(
        run,
        CASES,
        lambda case, outcome: assert_buffers_not_pickles(outcome.trace),
        everywhere=True,
    )


@points(0.25, requires=test_chunks_are_passed_on)
def test_receives_are_completed(run):
    """waits for every receive before returning"""
    assert_rule(
        run,
        CASES,
        lambda case, outcome: assert_requests_completed(outcome.trace, only="receives"),
        everywhere=True,
    )


@points(3, requires=test_chunks_are_passed_on)
def test_sends_are_completed(run):
    """waits for every send before returning"""
    assert_rule(
        run,
        CASES,
        lambda case, outcome: assert_requests_completed(outcome.trace, only="sends"),
        everywhere=True,
    )


@points(1.5, requires=test_chunks_are_passed_on)
def test_keeps_up_with_mpi(run):
    """takes at most 20x the time of MPI's Allreduce"""
    with timing_sends(run, CASES):
        assert_time_ratio(
            lambda attempt: run(2, timing_cases(FILE, FUNCTION, attempt) if attempt else CASES[2]),
            check=timed_check(run, CASES),
            factor=20,
            what="ringallreduce on 2 ranks, 6 MiB,",
            yardstick="MPI's own Allreduce of the same length",
        )


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
    """stops at a misspelt MPI send or receive"""
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
