"""Whether ranks compute at the same time, by pauses that they make in what they compute."""

import numpy as np
import pytest

from grader.api import RuleViolation, assert_at_once, take_turns

from ..build import Run


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
    with pytest.raises(RuleViolation, match="Ranks 0 and 2 took turns") as raised:
        assert_at_once([spans((0, 10), (20, 30)), spans(), spans((10, 20), (30, 40))])
    (finding,) = raised.value.findings
    assert finding.key == "rule.one_after_another"
    assert finding.facts == {"ranks": (0, 2)}


def test_a_pause_may_overlap_a_later_one_of_another_rank():
    """Also where pauses of its own rank begin between the two, as those of threads."""
    assert_at_once([spans((0, 100), (5, 10)), spans((20, 30), (200, 210))])


def test_numbers_that_no_clock_gives_are_compared_all_the_same():
    largest = np.iinfo(np.int64).max
    with pytest.raises(RuleViolation):
        assert_at_once([spans((largest, 0), (largest, 1)), spans((-largest, 0), (-1, -2))])


def test_no_more_than_the_first_pauses_are_looked_at():
    """A submission that forges a million of them keeps nobody busy."""
    forged = np.arange(2_000_000).reshape(-1, 2)
    assert take_turns([forged, forged + 1_000_000])


def served(order, *, waits):
    """Return the trace of a server, and pauses of two workers; waits: for one before the next."""
    run, pauses = Run(3), ([], [], [])
    for _ in range(2):
        for worker in order:
            run.send(0, worker)
            if waits:
                run.recv(worker, 0)
                pauses[worker].append(run.pause())
                run.send(worker, 0)
                run.recv(0, worker)
        if not waits:
            for worker in order:
                run.recv(worker, 0)
                pauses[worker].append(run.pause())
                run.send(worker, 0)
            for worker in order:
                run.recv(0, worker)
    return [spans(*each) for each in pauses], run.trace()


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_a_server_that_waits_for_each_worker_lets_them_take_turns(order):
    found, trace = served(order, waits=True)
    assert take_turns(found, trace)


def test_a_slow_server_that_waits_for_nobody_is_not_accused():
    """Its workers' pauses do not overlap either, as it takes long to write a message."""
    found, trace = served((1, 2), waits=False)
    assert take_turns(found)
    assert not take_turns(found, trace)


def test_turns_after_a_first_step_at_once_are_seen_in_the_calls():
    """What ranks do in their first step says nothing of the next ones."""
    found, trace = served((1, 2), waits=True)
    at_once = [spans(*((0, 1) for _ in each[:1]), *each.tolist()) for each in found]
    assert not take_turns(at_once)
    assert take_turns(at_once, trace)


def test_a_rank_that_computes_alone_at_first_takes_no_turns():
    """Its pauses are others than those of the other rank, step by step, but steps overlap."""
    run = Run(2)
    run.send(0, 1)
    run.recv(1, 0)
    begin = 1 + max(call.completed_ns for call in run.trace().ranks[1].calls)
    steps = [(begin + 10 * step, begin + 10 * step + 5) for step in range(4)]
    assert not take_turns([spans((0, 1), (1, 2), *steps[:2]), spans(*steps)], run.trace())
    assert take_turns([spans((0, 1), (1, 2)), spans(*steps)], run.trace())


def told_by_sends(*, synchronous):
    """Return the trace of a server, and pauses of workers that begin when a send has ended."""
    run, pauses = Run(3), ([], [], [])
    for _ in range(2):
        tokens = {worker: run.isend(worker, 0, tag=9, function="Issend") for worker in (1, 2)}
        for worker, token in tokens.items():
            run.recv(0, worker, tag=9)
            run.wait(worker, token)
            run.change(worker, token, synchronous=synchronous)
            pauses[worker].append(run.pause())
            run.send(worker, 0)
            run.recv(0, worker)
    return [spans(*each) for each in pauses], run.trace()


def test_a_synchronous_send_ends_when_its_receive_is_posted():
    found, trace = told_by_sends(synchronous=True)
    assert take_turns(found, trace)


def test_a_send_that_may_be_buffered_says_nothing_of_its_receiver():
    found, trace = told_by_sends(synchronous=False)
    assert take_turns(found)
    assert not take_turns(found, trace)


def told_by_collectives(function, *, root=-1):
    """Return the trace of two ranks, and pauses each of which ends before a collective."""
    run, pauses = Run(2), ([], [])
    for turn in range(4):
        pauses[turn % 2].append(run.pause())
        peer = root if root < 0 else turn % 2
        for rank in (turn % 2, (turn + 1) % 2):
            run.complete(rank, run.call(rank, function, peer=peer))
    return [spans(*each) for each in pauses], run.trace()


@pytest.mark.parametrize(
    ("function", "root", "tells"),
    [("Barrier", -3, True), ("Bcast", 0, True), ("Reduce", 0, False), ("Bsend", -3, False)],
)
def test_a_collective_tells_those_that_cannot_leave_it_before(function, root, tells):
    """Here the rank that computed is its root: only of a broadcast others wait for it."""
    found, trace = told_by_collectives(function, root=root)
    assert take_turns(found)
    assert take_turns(found, trace) is tells
