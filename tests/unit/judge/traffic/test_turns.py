"""Whether ranks compute at the same time, by pauses that they make in what they compute."""

import numpy as np
import pytest

from grader.api import RuleViolation, assert_at_once


def spans(*pairs):
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


@pytest.mark.parametrize(
    "spans_ns",
    [
        [spans((0, 10), (20, 30)), spans((5, 15), (35, 45))],
        [spans((20, 30), (40, 50)), spans((0, 10), (49, 60)), spans((100, 110), (200, 210))],
        [spans((0, 10), (20, 30))],
        [spans((0, 10), (20, 30)), spans((10, 20))],
        [spans((0, 10), (20, 30)), spans()],
    ],
    ids=["first", "one of three ranks", "one rank", "one pause", "no pause"],
)
def test_one_overlap_is_enough_and_few_pauses_tell_nothing(spans_ns):
    assert_at_once(spans_ns)


def test_ranks_whose_pauses_never_overlap_take_turns():
    with pytest.raises(RuleViolation, match="ranks 0 and 2 computed") as raised:
        assert_at_once([spans((0, 10), (20, 30)), spans(), spans((10, 20), (30, 40))])
    (finding,) = raised.value.findings
    assert finding.key == "rule.one_after_another"
    assert finding.facts == {"ranks": (0, 2)}


def test_pauses_of_one_rank_that_overlap_are_no_work_of_two():
    with pytest.raises(RuleViolation):
        assert_at_once([spans((0, 10), (5, 15)), spans((20, 30), (25, 35))])


def test_numbers_that_no_clock_gives_are_compared_all_the_same():
    largest = np.iinfo(np.int64).max
    with pytest.raises(RuleViolation):
        assert_at_once([spans((largest, 0), (largest, 1)), spans((-largest, 0), (2, 1))])
