"""The sum of all ranks' arrays."""

from dataclasses import dataclass

import pytest

from grader.api import (
    Array,
    Case,
    assert_every_rank,
    assert_messages_matter,
    assert_only_point_to_point,
    assert_requests_completed,
    assert_unchanged,
    case_context,
    every_message_fault,
    inject_faults,
    part,
    points,
    reduction_tolerance,
)

pytestmark = [part("sum"), pytest.mark.mpi]


@dataclass(frozen=True, kw_only=True)
class Sum(Case):
    """One call of sum_over_ranks."""

    probe: str = "sum_over_ranks"
    length: int

    @property
    def label(self):
        """Return the words that name this case to a student."""
        return f"length {self.length}{self.perturbation}"

    def inputs(self, random, ranks, data):
        """Return one array per rank."""
        return [{"send": random.normal(size=self.length)} for _ in range(ranks)]

    def results(self, rank, ranks):
        """Return the form of what comes back."""
        return dict.fromkeys(("recv", "send"), Array("float64", (self.length,)))


CASES = (Sum(length=1), Sum(length=100))
UNBUFFERED = (Sum(length=10, synchronous_sends=True),)


def assert_sums(case, outcome):
    """Assert that recv is the sum on every rank. Raises WrongAnswer."""
    sends = [each["send"] for each in outcome.inputs]
    tolerance = reduction_tolerance(outcome.ranks, "float64", sum(map(abs, sends)))
    with case_context(case, outcome):
        assert_every_rank(outcome["recv"], equals=sum(sends), atol=tolerance)


@points(2)
def test_sums_come_from_messages(run):
    """computes recv from the other rank's messages, on 2 ranks"""
    case, outcome = next(iter(run(2, CASES)))
    # What is plainly wrong is said first: without messages there would be nothing to alter.
    assert_sums(case, outcome)
    assert_only_point_to_point(outcome.trace)
    faults = every_message_fault(outcome, range(2))
    assert_messages_matter(outcome.trace, inject_faults(run, 2, case, outcome, faults, assert_sums))


@points(5, requires=test_sums_come_from_messages)
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_every_rank_gets_the_sum(run, ranks):
    """sums all send arrays on every rank"""
    for case, outcome in run(ranks, CASES):
        assert_sums(case, outcome)


@points(1, requires=test_sums_come_from_messages)
def test_send_is_left_alone(run):
    """leaves send unchanged"""
    for case, outcome in run(3, CASES):
        with case_context(case, outcome):
            assert_unchanged(outcome["send"], [each["send"] for each in outcome.inputs])


@points(1, requires=test_every_rank_gets_the_sum)
def test_works_when_no_message_is_buffered(run):
    """works without message buffering"""
    for case, outcome in run(3, UNBUFFERED):  # also finds messages that no rank receives
        assert_sums(case, outcome)


@points(0.5, requires=test_sums_come_from_messages)
def test_nothing_but_point_to_point_calls(run):
    """uses point-to-point calls only"""
    for case, outcome in run(3, CASES):
        with case_context(case, outcome):
            assert_only_point_to_point(outcome.trace)


@points(0.5, requires=test_sums_come_from_messages)
def test_every_request_is_completed(run):
    """completes every request"""
    for case, outcome in run(3, CASES):
        with case_context(case, outcome):
            assert_requests_completed(outcome.trace)
