"""What the ranks recorded, against itself, against each other, and against MPI's own count."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.judge.check_failures import NotProven, RuleViolation
from grader.judge.explanation.trace_doubts import (
    InFlight,
    contradictions,
    disagreements,
    miscounts,
    unrecorded,
)
from grader.judge.traffic import counting, rules
from grader.judge.traffic.counting import assert_not_truncated
from grader.judge.traffic.neighbours import assert_one_neighbour
from grader.trace.calls import PROC_NULL, Counted, Trace

from ..build import Run

LONG_AGO_NS, LATER_NS = 0, 10**9
SAID = "rank 0 says this and rank 1 that"


def doubts_of(run, in_flight=None):
    return disagreements(run.trace(), in_flight or InFlight())[0]


def exchange(num_messages=2):
    """Two ranks that send each other messages of 1, 2, ... elements, and receive them all."""
    run = Run(2)
    for rank in range(2):
        for number in range(num_messages):
            run.send(rank, 1 - rank, tag=3, num_elements=number + 1)
    for rank in range(2):
        for number in range(num_messages):
            run.recv(rank, 1 - rank, tag=3, received_num_bytes=8 * (number + 1))
    return run


# Both ends of a message ----------------------------------------------------------------------


def test_messages_that_were_sent_may_be_received():
    """Each receive has its send: no doubt, and nothing under way."""
    doubts, left = disagreements(exchange().trace(), InFlight())
    assert doubts == []
    assert (left.rows.tolist(), left.is_known) == ([], True)


def test_a_message_that_nobody_receives_is_no_doubt():
    """It stays under way, and a later case may receive it, once."""
    run = Run(2)
    run.send(0, 1, tag=3)
    doubts, left = disagreements(run.trace(), InFlight())
    assert doubts == []
    later = Run(2)
    later.recv(1, 0, tag=3, received_num_bytes=8)
    assert doubts_of(later, left) == []
    later.recv(1, 0, tag=3, received_num_bytes=8)
    assert len(doubts_of(later, left)) == 1


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        ({"to": 1, "tag": 4}, {"rank": 1, "source": 0, "tag": 3}),
        ({"to": 2, "tag": 3}, {"rank": 1, "source": 0, "tag": 3}),
        ({"to": 1, "tag": 3, "communicator": 7}, {"rank": 1, "source": 0, "tag": 3}),
        ({"to": 1, "tag": 3, "num_elements": 2}, {"rank": 1, "source": 0, "tag": 3}),
    ],
    ids=["other tag", "other rank", "other communicator", "other size"],
)
def test_a_message_that_nobody_sent_is_a_doubt(sent, received):
    """The sentence names receiver, sender and where it was received."""
    run = Run(3)
    run.send(0, **sent)
    run.recv(**received, received_num_bytes=8)
    (doubt,) = doubts_of(run)
    assert re.search(r"rank 1 received a message of 8 bytes from rank 0 .*ring\.py:10", doubt.text)
    assert "rank 0 did not record sending it" in doubt.text
    assert doubt.ranks == (0, 1)


def test_a_message_taken_by_a_matched_probe_counts_once():
    """The probe takes it out of the queue; the receive that follows gets the same message."""
    run = Run(2)
    run.send(0, 1)
    run.call(1, "Mprobe", peer=0, tag=0, matched_source=0, matched_tag=0, received_num_bytes=8)
    run.recv(1, 0, function="Mrecv", received_num_bytes=8)
    assert doubts_of(run) == []


def test_what_torch_receives_has_no_size():
    """Only the number of messages is compared."""
    run = Run(2)
    run.isend(0, 1, num_elements=5, function="isend")
    run.recv(1, 0, function="irecv")
    assert doubts_of(run) == []
    run.recv(1, 0, function="irecv")
    assert len(doubts_of(run)) == 1


def test_lost_records_are_no_doubt():
    """A truncated trace is told as such; nothing is compared any more in this run."""
    run = Run(2)
    run.recv(1, 0, received_num_bytes=8)
    run.state(0, truncated=True)
    doubts, left = disagreements(run.trace(), InFlight())
    assert (doubts, left.is_known) == ([], False)
    fresh = Run(2)
    fresh.recv(1, 0, received_num_bytes=8)
    assert doubts_of(fresh, left) == []


def test_messages_alike_are_under_way_as_one():
    """However many nobody receives, they are kept by their number, over many cases."""
    left = InFlight()
    for _ in range(3):
        run = Run(2)
        for _ in range(100):
            run.send(0, 1, tag=3)
        run.send(0, 1, tag=4)
        doubts, left = disagreements(run.trace(), left)
        assert doubts == []
    assert sorted(left.numbers.tolist()) == [3, 300]


def test_of_messages_alike_the_first_that_was_not_sent_is_named():
    """By rank of who received them, one for each rank at most."""
    run = Run(2)
    for rank in (1, 0):
        run.send(1 - rank, rank, tag=3)
        lines = [run.recv(rank, 1 - rank, tag=3, received_num_bytes=8) for _ in range(3)]
        run.recv(rank, 1 - rank, tag=4 + rank, received_num_bytes=8)
    first, second = doubts_of(run)
    assert first.text.startswith("rank 0 received") and second.text.startswith("rank 0 received")
    assert f"ring.py:{10 * (lines[1] + 1)}" in first.text


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1), st.booleans())))
def test_every_honest_run_agrees(messages):
    """Whoever sends what to whom, received or not, in order or not: there is no doubt."""
    run = Run(3)
    for number, (source, to, tag, _) in enumerate(messages):
        run.send(source, to, tag, num_elements=number)
    for number, (source, to, tag, is_received) in reversed(list(enumerate(messages))):
        if is_received:
            run.recv(to, source, tag, received_num_bytes=8 * number)
    doubts, left = disagreements(run.trace(), InFlight())
    assert doubts == []
    num_left = left.numbers.sum()
    assert num_left == sum(not is_received for *_, is_received in messages)


# A rank against itself ------------------------------------------------------------------------


def test_an_honest_rank_does_not_contradict_itself():
    """Numbers, times and phases are in order."""
    run = Run(2)
    run.wait(0, run.isend(0, 1))
    run.recv(1, 0)
    run.poll(0)
    assert list(contradictions(run.trace(), LONG_AGO_NS, LATER_NS)) == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"entered_ns": 1}, "not in chronological order"),
        ({"left_ns": 3}, "times outside the case"),
        ({"completed_ns": 2 * LATER_NS}, "times outside the case"),
        ({"phase": 5}, "phases that do not exist"),
    ],
)
def test_a_rank_that_contradicts_itself(fields, said):
    """Each disorder has its sentence, with the rank in it."""
    run = Run(2)
    for _ in range(3):
        run.call(1, "Barrier")
    run.change(1, 1, **fields)
    doubts = list(contradictions(run.trace(), LONG_AGO_NS, LATER_NS))
    assert any(said in doubt.text and doubt.ranks == (1,) for doubt in doubts), doubts


def test_a_call_that_is_missing():
    """Calls are numbered; where the memory was too small for all, that is told as such."""
    run = Run(1)
    for _ in range(3):
        run.call(0, "Barrier")
    (whole,) = run.trace().ranks
    for is_truncated, num_doubts in ((False, 1), (True, 0)):
        holed = replace(whole, calls=whole.calls[::2], truncated=is_truncated)
        doubts = list(contradictions(Trace((holed,)), LONG_AGO_NS, LATER_NS))
        assert len(doubts) == num_doubts
        assert all("not numbered in sequence" in doubt.text for doubt in doubts)


def test_calls_from_before_the_case():
    """The clock is the judge's own: what was entered before the case began was not its call."""
    run = Run(1)
    run.call(0, "Barrier")
    assert list(contradictions(run.trace(), 5, LATER_NS)) == []
    assert len(list(contradictions(run.trace(), 500, LATER_NS))) == 1


def test_polls_are_recorded_late():
    """A poll is written down after it was made: another thread's call may come before."""
    run = Run(1)
    run.call(0, "Barrier")
    run.poll(0)
    run.change(0, 1, entered_ns=1)
    assert list(contradictions(run.trace(), LONG_AGO_NS, LATER_NS)) == []


def test_calls_that_leave_no_record():
    """Whoever makes them is named."""
    assert list(unrecorded([0, 0])) == []
    (doubt,) = unrecorded([0, 2])
    assert doubt.text.startswith("rank 1 called MPI inside a function that MPI itself calls")


# MPI's own count ------------------------------------------------------------------------------


def counted(*rows):
    return Counted(tuple(row[0] for row in rows), tuple(row[1] for row in rows))


NOTHING = counted((0, 0), (0, 0))


def test_both_count_the_same():
    """To each peer; what was counted before the case does not matter."""
    before = [counted((9, 9), (1, 100)), counted((2, 2), (0, 0))]
    after = [counted((9, 9), (3, 124)), counted((4, 26), (0, 0))]
    assert list(miscounts(exchange().trace(), before, after)) == []


@pytest.mark.parametrize("row", [(3, 24), (2, 32), (0, 0), (1, 24)])
def test_mpi_counted_something_else(row):
    """The sentence has both counts."""
    after = [counted((0, 0), row), counted((2, 24), (0, 0))]
    (doubt,) = miscounts(exchange().trace(), [NOTHING, NOTHING], after)
    assert doubt.text == (
        f"rank 0 recorded 2 messages to rank 1 (24 bytes), but MPI itself counted {row[0]} "
        f"({row[1]} bytes)"
    )


def test_what_mpi_does_not_count():
    """Started persistent requests, failed sends, sends to nobody; preparing sends nothing."""
    run = Run(2)
    run.isend(0, 1, function="Send_init", creates_request=False)
    run.isend(0, 1, function="Start")
    run.isend(0, 1, function="Startall")
    run.send(0, 1, error=5)
    run.send(0, PROC_NULL)
    assert list(miscounts(run.trace(), [NOTHING, NOTHING], [NOTHING, NOTHING])) == []


def test_messages_to_oneself_and_cancelled_ones_count():
    """MPI counts a message when it is posted."""
    run = Run(2)
    run.send(0, 0)
    run.isend(0, 1, cancelled=True)
    after = [counted((1, 8), (1, 8)), NOTHING]
    assert list(miscounts(run.trace(), [NOTHING, NOTHING], after)) == []


def test_partitioned_messages_cannot_be_compared():
    """MPI sends them in a way of its own: that is said, instead of two numbers."""
    run = Run(2)
    run.call(0, "Psend_init", is_send=True, peer=1, num_bytes=8)
    (doubt,) = miscounts(run.trace(), [NOTHING, NOTHING], [NOTHING, NOTHING])
    assert "rank 0 called Psend_init" in doubt.text


def test_without_a_second_witness_there_is_no_doubt():
    """Gloo counts nothing."""
    assert list(miscounts(exchange().trace(), [None, None], [None, None])) == []


# What rules make of it ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "check",
    [
        assert_not_truncated,
        assert_one_neighbour,
        rules.assert_only_point_to_point,
        rules.assert_only_nonblocking,
        rules.assert_buffers_not_pickles,
        rules.assert_requests_completed,
        lambda trace: rules.assert_only_operations(trace, {"Isend", "Irecv"}, "no other"),
        lambda trace: rules.assert_uses_operations(trace, {"Isend"}),
        lambda trace: counting.assert_ring_volume(trace, 4, 8),
        lambda trace: counting.assert_naive_volume(trace, 2, 8),
    ],
)
def test_no_rule_passes_on_doubtful_evidence(check):
    """Each names the first doubt, also where the numbers alone would be a violation."""
    run = Run(2)
    for rank in range(2):
        run.wait(rank, run.isend(rank, 1 - rank, num_elements=2))
    trace = replace(run.trace(), doubts=(SAID, "more"), doubtful_ranks=(0, 1))
    said = (
        "^our records of this run disagree: rank 0 says this and rank 1 that. Your instructor "
        "reviews"
    )
    with pytest.raises(NotProven, match=said) as raised:
        check(trace)
    assert raised.value.findings[0].facts["ranks"] == (0, 1)


def test_a_call_that_was_seen_stays_a_violation():
    """That a collective was recorded does not rest on what is doubtful."""
    run = Run(2)
    run.call(0, "Allreduce")
    trace = replace(run.trace(), doubts=(SAID,))
    with pytest.raises(RuleViolation, match="Allreduce"):
        rules.assert_only_point_to_point(trace)
