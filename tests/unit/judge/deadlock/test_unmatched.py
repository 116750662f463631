"""A send that its rank has not waited for is named, once the rank has returned."""

from grader.judge.deadlock.unmatched import left_behind, unfinished

from ..build import Run


def test_the_send_that_is_waited_for_is_named():
    """With its rank, its call and its line; not the first that was left, which nobody misses."""
    run = Run(3)
    run.isend(0, 1, 7)
    run.isend(0, 2, 7)
    run.isend(0, 2, 8)
    run.enter_recv(2, 0, 8)
    assert left_behind(run.trace(), frozenset({0, 1})) == (
        "rank 0 returned without waiting for its Isend(dest=2, tag=8) at ring.py:30, so this "
        "message might never arrive; rank 2 waits for it"
    )


def test_a_wait_and_a_probe_wait_for_messages_too():
    """Whatever a rank is in, the message it needs is the one that is named."""
    for enter in (
        lambda run: run.enter_wait(1, run.irecv(1, 0, 7)),
        lambda run: run.poll(1, run.irecv(1, 0, 7)),
        lambda run: run.enter_probe(1, 0, 7),
    ):
        run = Run(2)
        run.isend(0, 1, 6)
        run.isend(0, 1, 7)
        enter(run)
        assert "Isend(dest=1, tag=7) at ring.py:20" in left_behind(run.trace(), frozenset({0}))


def test_a_send_that_nobody_waits_for_is_no_reason():
    """Whoever computes, or waits for something else, is not kept by it."""
    run = Run(2)
    run.isend(0, 1, 7)
    assert left_behind(run.trace(), frozenset({0})) == ""
    run.enter_recv(1, 0, 8)
    assert left_behind(run.trace(), frozenset({0})) == ""


def test_a_rank_that_is_still_at_work_may_yet_wait():
    """Only ranks that have returned leave something behind."""
    run = Run(3)
    run.isend(0, 1)
    run.enter_recv(1, 0, 0)
    assert left_behind(run.trace(), frozenset({2})) == ""


def test_what_is_complete_is_not_left_behind():
    """A send that was waited for, one that had an error, and a blocking one."""
    for leave in (
        lambda run: run.isend(0, 1, completed_ns=5),
        lambda run: run.isend(0, 1, error=3),
        lambda run: run.send(0, 1),
        lambda run: run.irecv(0, 1),
    ):
        run = Run(2)
        leave(run)
        run.enter_recv(1, 0, 0)
        assert left_behind(run.trace(), frozenset({0})) == ""


def test_what_a_rank_waits_for_now_is_not_forgotten():
    """A rank may crash inside the wait for it, by a buffer that is wrong."""
    run = Run(2)
    run.irecv(0, 1, 7)
    forgotten = unfinished(run.trace(), 0)
    assert "Irecv(source=1, tag=7)" in forgotten
    run.enter_wait(0, run.irecv(0, 1, 8))
    assert unfinished(run.trace(), 0) == forgotten
    run.change(0, 2, waits_for=(0, 1))
    assert unfinished(run.trace(), 0) == ""
