"""How far a grading has come, in words."""

import pytest

from grader.progress import PartProgress
from grader.suite.part_context import Position


@pytest.mark.parametrize(
    ("position", "elapsed_s", "text"),
    [
        (Position(0, 4, 1), 1.0, "part 2 of 5, ring: test 1 of 4, 1 rank"),
        (Position(2, 4, 3), 6.0, "part 2 of 5, ring: test 3 of 4, 3 ranks, about 14 s left"),
        (Position(4, 4, 3), 8.0, "part 2 of 5, ring: test 4 of 4, 3 ranks, about 12 s left"),
    ],
)
def test_part_test_and_time_left_are_told(position, elapsed_s, text):
    """The time after a few seconds: before, nothing is known of it."""
    assert PartProgress("ring", 2, 5, 0.0, print).text(position, elapsed_s) == text


def test_at_the_start_no_time_is_told():
    """The first test starts most of the ranks: by it, the others would last for minutes."""
    progress = PartProgress("ring", 1, 1, 0.0, print)
    told = "part 1 of 1, ring: test 2 of 17, 2 ranks"
    assert progress.text(Position(1, 17, 2), 6.0) == told


def test_at_the_very_start_no_time_is_told():
    """Nothing divided by nothing."""
    progress = PartProgress("ring", 1, 1, 0.0, print)
    assert progress.text(Position(0, 4, 2), 9.0) == "part 1 of 1, ring: test 1 of 4, 2 ranks"
