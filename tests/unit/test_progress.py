"""How far a part has come, in words."""

import pytest

from grader.progress import PartProgress
from grader.suite.part_context import Position


@pytest.mark.parametrize(
    ("position", "elapsed_s", "text"),
    [
        (Position(0, 4, 1), 1.0, "ring  0 of 4 checks, 1 rank"),
        (Position(2, 4, 3), 6.0, "ring  2 of 4 checks, 3 ranks, about 6 s left"),
        (Position(1, 17, 2), 6.0, "ring  1 of 17 checks, 2 ranks"),
        (Position(0, 0, 2), 9.0, "ring  0 of 0 checks, 2 ranks"),
    ],
)
def test_checks_ranks_and_time_left_are_told(position, elapsed_s, text):
    """The time after a few seconds and checks: before, nothing is known of it."""
    assert PartProgress("ring", print).text(position, elapsed_s) == text


def test_time_left_is_told_only_while_it_falls():
    """An estimate that grows says nothing."""
    progress = PartProgress("ring", print)
    told = [progress.text(Position(2, 4, 3), elapsed_s) for elapsed_s in (6.0, 9.0, 5.0)]
    assert ["left" in each for each in told] == [True, False, True]
