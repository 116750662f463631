"""The tests that both all-reduces share; each part's suite says what they pay."""

from functools import partial
from types import SimpleNamespace

import pytest

from grader.api import (
    assert_buffers_not_pickles,
    assert_only_nonblocking,
    assert_only_point_to_point,
    assert_requests_completed,
    assert_time_ratio,
)

from .allreduce_cases import timing_cases
from .allreduce_proof import Cases, assert_results_come_from_messages
from .allreduce_rules import (
    WRONG_DTYPE,
    assert_ability,
    assert_all_abilities,
    assert_rule,
    timed_check,
    timing_sends,
)
from .allreduce_values import assert_reduced_by_messages, assert_send_unchanged


def shared_tests(file: str, function: str, cases: Cases) -> SimpleNamespace:
    """Return the shared tests of a part, by their names."""

    def assert_reduces(run, ranks):
        for case, outcome in run(ranks, cases[ranks]).having(subject="plain"):
            assert_reduced_by_messages(case, outcome)

    def assert_traces(run, rule, *, any_way=False):
        def of_trace(case, outcome):
            rule(outcome.trace)

        assert_rule(run, cases, of_trace, any_way=any_way, everywhere=True)

    def test_results_come_from_the_messages(run):
        """computes the result from the messages it receives"""
        assert_results_come_from_messages(run, cases)

    def test_three_processes(run):
        """works on 3 ranks"""
        assert_reduces(run, 3)

    @pytest.mark.parametrize("ranks", [2, 4])
    def test_two_and_four_processes(run, ranks):
        """works on 2 and 4 ranks"""
        assert_reduces(run, ranks)

    @pytest.mark.parametrize("ranks", [2, 4, 5, 8, 16])
    def test_any_number_of_processes(run, ranks):
        """works on any number of ranks (2 to 16)"""
        assert_reduces(run, ranks)

    def test_all_inputs_and_numbers_of_processes(run):
        """works for all lengths, ops, and dtypes, on 1 to 16 ranks"""
        assert_all_abilities(run, cases)

    def test_no_elements(run):
        """accepts an empty array"""
        assert_ability(run, cases, "no elements")

    def test_one_process(run):
        """copies send into recv on 1 rank"""
        assert_ability(run, cases, "one process")

    def test_several_dimensions(run):
        """works for arrays of 2 and 3 dimensions"""
        assert_ability(run, cases, "dimensions")

    def test_no_dimensions(run):
        """works for a scalar array, shape ()"""
        assert_ability(run, cases, "no dimensions")

    def test_every_dtype(run):
        """works for float32 and int64"""
        assert_ability(run, cases, "dtype", hint=WRONG_DTYPE)

    def test_any_op(run):
        """works for any op, not only np.add"""
        assert_ability(run, cases, "op")

    def test_send_is_left_unchanged(run):
        """leaves send unchanged"""
        assert_rule(run, cases, assert_send_unchanged)

    def test_works_when_no_message_is_buffered(run):
        """works without message buffering"""
        assert_ability(run, cases, "unbuffered")

    def test_other_communicators(run):
        """uses only the given communicator"""
        assert_ability(run, cases, "communicators")

    def test_only_point_to_point_calls(run):
        """uses point-to-point calls only"""
        assert_traces(run, assert_only_point_to_point, any_way=True)

    def test_calls_do_not_block(run):
        """uses non-blocking calls only"""
        assert_traces(run, assert_only_nonblocking, any_way=True)

    def test_arrays_travel_as_buffers(run):
        """sends arrays as buffers, not pickled"""
        assert_traces(run, assert_buffers_not_pickles)

    def test_receives_are_completed(run):
        """waits for every receive before returning"""
        assert_traces(run, partial(assert_requests_completed, only="receives"))

    def test_sends_are_completed(run):
        """waits for every send before returning"""
        assert_traces(run, partial(assert_requests_completed, only="sends"))

    def test_keeps_up_with_mpi(run):
        """takes at most 20x the time of MPI's Allreduce"""

        def measure(attempt):
            return run(2, timing_cases(file, function, attempt) if attempt else cases[2])

        with timing_sends(run, cases):
            assert_time_ratio(
                measure,
                check=timed_check(run, cases),
                factor=20,
                what=f"{function} on 2 ranks, 6 MiB,",
                yardstick="MPI's own Allreduce of the same length",
            )

    return SimpleNamespace(**locals())
