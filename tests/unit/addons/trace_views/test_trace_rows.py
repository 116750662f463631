"""The calls of a rank as rows: what completes a request, and what became of each call."""

import pytest
from unit.judge.build import Run

from grader.addons.trace_views.trace_rows import (
    State,
    number_runs,
    peer_text,
    rows_of,
    tag_text,
)
from grader.trace.calls import ANY_SOURCE, ANY_TAG, PROC_NULL


def rows(run: Run, rank: int = 0):
    return rows_of(rank, run.trace().ranks[rank], 0)


def test_calls_are_numbered_as_they_are_shown():
    """From 1, whatever the sequence of the first call of the case is."""
    run = Run(2)
    run.call(0, "Barrier", sequence=41)
    assert [(row.number, row.name) for row in rows(run)] == [(1, "Barrier")]


def test_times_are_since_the_case_began():
    """In milliseconds; how long the rank was in the call, where it has left it."""
    run = Run(1)
    run.call(0, "Barrier", entered_ns=5_000_000, left_ns=7_500_000)
    run.enter(0, "Barrier", entered_ns=8_000_000)
    first, second = rows_of(0, run.trace().ranks[0], 4_000_000)
    assert (first.began_ms, first.lasted_ms) == (1.0, 2.5)
    assert (second.began_ms, second.lasted_ms) == (4.0, None)


def test_a_request_knows_the_call_that_completes_it_and_that_call_its_requests():
    """Each by its number."""
    run = Run(2)
    sent, got = run.isend(0, 1), run.irecv(0, 1, 0)
    run.change(0, got, completed_ns=45)
    run.change(0, sent, completed_ns=44)
    run.call(0, "Waitall", waits_for=(sent, got), entered_ns=40, left_ns=50)
    send, receive, wait = rows(run)
    assert (send.completed_by, receive.completed_by, wait.completed_by) == (3, 3, None)
    assert (wait.waits_for, wait.completes) == ((1, 2), (1, 2))
    assert peer_text(wait) == "for #1-2"


def test_of_several_that_ask_the_last_before_the_end_has_completed_it():
    """A Waitany leaves the others to the next; what asks later finds nothing to complete."""
    run = Run(2)
    first, second = run.irecv(0, 1), run.irecv(0, 1)
    run.change(0, first, completed_ns=105)
    run.change(0, second, completed_ns=205)
    for began_ns in (100, 200, 300):
        asked = (first, second)
        run.call(0, "Waitany", waits_for=asked, entered_ns=began_ns, left_ns=began_ns + 4)
    found = rows(run)
    assert [row.completed_by for row in found[:2]] == [3, 4]
    assert [peer_text(row) for row in found[2:]] == ["#1 of #1-2", "#2 of #1-2", "for #1-2"]


@pytest.mark.parametrize(
    ("make", "state"),
    [
        (lambda run: run.send(0, 1), State.COMPLETED),
        (lambda run: run.isend(0, 1), State.NEVER),
        (lambda run: run.isend(0, 1, completed_ns=7), State.COMPLETED),
        (lambda run: run.isend(0, 1, request_freed=True), State.FREED),
        (lambda run: run.irecv(0, 1, cancelled=True), State.CANCELLED),
        (lambda run: run.irecv(0, 1, error=15), State.ERROR),
        (lambda run: run.enter_recv(0, 1), State.WAITING),
        (lambda run: run.poll(0), State.EMPTY),
        (lambda run: run.call(0, "all_reduce", left_ns=0), State.UNKNOWN),
    ],
)
def test_each_state(make, state):
    """What became of a call, from what was recorded of it."""
    run = Run(2)
    make(run)
    assert [row.state for row in rows(run)] == [state]


def test_both_halves_of_an_exchange_wait():
    """A rank inside of Sendrecv is in two calls."""
    run = Run(2)
    run.enter_sendrecv(0, 1, 1)
    assert [row.state for row in rows(run)] == [State.WAITING, State.WAITING]


@pytest.mark.parametrize(
    ("fields", "peer", "tag"),
    [
        ({"is_send": True, "peer": 1, "tag": 7}, "to 1", "7"),
        ({"is_receive": True, "peer": 1, "tag": 7}, "from 1", "7"),
        ({"is_receive": True, "peer": ANY_SOURCE, "tag": ANY_TAG}, "from any", "any"),
        (
            {
                "is_receive": True,
                "peer": ANY_SOURCE,
                "tag": ANY_TAG,
                "matched_source": 1,
                "matched_tag": 5,
            },
            "from 1 (any)",
            "5 (any)",
        ),
        ({"is_send": True, "peer": PROC_NULL, "tag": 0}, "to no rank", "0"),
        ({"function": "Probe", "peer": 1, "tag": 0}, "from 1", "0"),
        ({"function": "Put", "peer": 1, "tag": ANY_TAG}, "rank 1", "any"),
        ({"function": "Bcast", "peer": 0}, "root 0", ""),
        ({"function": "Allreduce"}, "", ""),
    ],
)
def test_the_peer_is_told_as_seen_from_the_rank(fields, peer, tag):
    """Whom a call is about, and with which tag."""
    run = Run(2)
    run.call(0, **{"function": "Send", **fields})
    (row,) = rows(run)
    assert (peer_text(row), tag_text(row)) == (peer, tag)


def test_a_receive_is_as_long_as_what_it_got():
    """Before, as long as there is room for."""
    run = Run(2)
    run.irecv(0, 1, num_bytes=80)
    run.recv(0, 1, num_bytes=80, received_num_bytes=24)
    assert [row.num_bytes for row in rows(run)] == [80, 24]


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((), ""),
        ((4,), "#4"),
        ((1, 2, 3), "#1-3"),
        ((1, 2, 3, 7), "#1-3, #7"),
        ((1, 3, 5, 6), "#1 ... #5-6"),
    ],
)
def test_many_numbers_are_told_in_few_words(numbers, text):
    """Neighbours as one run, of many runs the first and the last."""
    assert number_runs(numbers) == text
