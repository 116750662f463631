"""Blocks of calls that repeat are found, and nothing that differs is lost in them."""

from hypothesis import given
from hypothesis import strategies as st
from unit.judge.build import Run

from grader.addons.trace_views.trace_rows import rows_of
from grader.addons.trace_views.trace_table import blocks_of


def blocks(run: Run) -> list[tuple[int, int, int]]:
    """Return start, length and times of each."""
    return list(blocks_of(rows_of(0, run.trace().ranks[0], 0)))


def sends(*tags: int) -> Run:
    run = Run(2)
    for tag in tags:
        run.send(0, 1, tag, line=3)
    return run


def test_a_call_in_a_loop_is_one_block():
    """However often it is made."""
    assert blocks(sends(*[5] * 9)) == [(0, 1, 9)]


def test_a_block_of_several_calls_is_found():
    """Between calls that belong to no block."""
    tags = [1, 2, 3, 4, 3, 4, 3, 4, 9]
    found = [(0, 1, 1), (1, 1, 1), (2, 2, 3), (8, 1, 1)]
    assert blocks(sends(*tags)) == found


def test_few_rows_are_left_alone():
    """Where folding saves less than it costs to read."""
    assert blocks(sends(1, 2, 1, 2)) == [(index, 1, 1) for index in range(4)]


def test_requests_are_compared_by_how_far_away_they_are():
    """A wait for the send before it is the same wherever it stands."""
    run = Run(2)
    for _ in range(4):
        sent = run.isend(0, 1, line=3)
        run.change(0, run.wait(0, sent), line=4, entered_ns=0)
    assert blocks(run) == [(0, 2, 4)]


def test_what_waits_is_in_no_block_of_what_is_done():
    """The last receive of a loop is the one to look at."""
    run = Run(2)
    for _ in range(5):
        run.recv(0, 1, line=3)
    run.enter_recv(0, 1, 0, line=3)
    assert blocks(run) == [(0, 1, 5), (5, 1, 1)]


@given(st.lists(st.integers(0, 2), max_size=30))
def test_blocks_unfold_to_the_calls(tags):
    """Every call is in exactly one block, and equal to the one that stands for it."""
    unfolded: list[int] = []
    for start, length, times in blocks(sends(*tags)):
        assert start == len(unfolded)
        unfolded += tags[start : start + length] * times
    assert unfolded == tags
