"""A send that its rank has not waited for is named, once the rank has returned."""

from grader.judge.left_behind import left_behind

from .build import Run


def test_a_send_that_nobody_waits_for_is_named():
    """With its rank, its call and its line."""
    run = Run(2)
    run.isend(0, 1, 7)
    assert left_behind(run.trace(), frozenset({0})) == (
        "rank 0 has returned without having waited for its Isend(dest=1, tag=7) at ring.py:10, so "
        "that this message may never arrive"
    )


def test_a_rank_that_is_still_at_work_may_yet_wait():
    """Only ranks that have returned leave something behind."""
    run = Run(2)
    run.isend(0, 1)
    assert left_behind(run.trace(), frozenset({1})) == ""


def test_what_is_complete_is_not_left_behind():
    """A send that was waited for, one that had an error, and a blocking one."""
    run = Run(2)
    run.isend(0, 1, completed_ns=5)
    run.isend(0, 1, error=3)
    run.send(0, 1)
    run.irecv(0, 1)
    assert left_behind(run.trace(), frozenset({0})) == ""
