"""How far a part has come, in words."""

import pytest

from grader.grading_plugin.part_context import Position
from grader.grading_plugin.progress import Progress


def _begun(tell):
    progress = Progress(tell)
    progress.begin("ring")
    return progress


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
    assert _begun(print).text(position, elapsed_s) == text


def test_time_left_is_told_only_while_it_falls():
    """An estimate that grows says nothing."""
    progress = _begun(print)
    told = [progress.text(Position(2, 4, 3), elapsed_s) for elapsed_s in (6.0, 9.0, 5.0)]
    assert ["left" in each for each in told] == [True, False, True]


def test_a_rank_that_computes_for_long_is_told_with_its_line():
    """Behind what is being done, until the next step; a place may not be known."""
    told = []
    progress = _begun(told.append)
    progress.show(Position(1, 4, 2))
    progress.silent_rank(0, ("my_ring.py", 29))
    progress.show(Position(2, 4, 2))
    progress.silent_rank(1, None)
    assert told[1:] == [
        "ring  1 of 4 checks, 2 ranks",
        "ring  rank 0 still computing at my_ring.py:29",
        "ring  2 of 4 checks, 2 ranks",
        "ring  rank 1 still computing",
    ]


def test_of_hidden_tests_no_line_is_told():
    """Only that they are in progress."""
    told = []
    progress = _begun(told.append)
    progress.begin("hidden tests", is_hidden=True)
    progress.silent_rank(0, ("my_ring.py", 29))
    assert told == ["ring: starting", "hidden tests: starting"]
