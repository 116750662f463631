"""Which messages follow one another, and which were used before they had arrived."""

import pytest

from grader.judge.check_failures import NotProven, RuleViolation
from grader.judge.traffic.message_order import arrival_text, assert_message_depth, message_depth

from ..build import Run


def broadcast(num_ranks, edges):
    run = Run(num_ranks)
    for source, destination in edges:
        run.send(source, destination)
        run.recv(destination, source)
    return run.trace()


@pytest.mark.parametrize(
    ("num_ranks", "edges", "depth"),
    [
        (4, [], 0),
        (4, [(0, 1), (0, 2), (0, 3)], 1),
        (4, [(0, 1), (1, 2), (2, 3)], 3),
        (8, [(0, 4), (0, 2), (4, 6), (0, 1), (2, 3), (4, 5), (6, 7)], 3),
    ],
)
def test_a_message_follows_what_its_sender_has_received(num_ranks, edges, depth):
    trace = broadcast(num_ranks, edges)
    assert message_depth(trace) == depth
    assert_message_depth(trace, depth)


def test_what_is_received_later_is_not_waited_for():
    """All ranks of a ring send before they receive, though the messages make a circle."""
    run = Run(3)
    for rank in range(3):
        run.send(rank, (rank + 1) % 3)
    for rank in range(3):
        run.recv(rank, (rank - 1) % 3)
    assert message_depth(run.trace()) == 1


def test_a_message_that_nobody_has_received_counts_for_nothing():
    run = Run(3)
    run.send(0, 1)
    assert message_depth(run.trace()) == 0


def test_two_messages_of_one_sender_are_received_in_their_order():
    """By tag: the second one may be taken first, and what follows it follows no other."""
    run = Run(3)
    run.send(0, 1, tag=1)
    run.send(0, 1, tag=2)
    run.recv(1, 0, tag=2)
    run.send(1, 2)
    run.recv(1, 0, tag=1)
    run.recv(2, 1)
    assert message_depth(run.trace()) == 2


def test_a_row_that_is_too_long_is_told_with_its_ranks_and_lines():
    trace = broadcast(4, [(0, 1), (1, 2), (2, 3)])
    with pytest.raises(
        RuleViolation,
        match=r"3 messages form a chain, but at most 2 may; .*: rank 0 -> 1 -> 2",
    ):
        assert_message_depth(trace, 2)


def test_a_trace_that_lost_calls_proves_nothing():
    run = Run(2)
    run.state(0, truncated=True)
    with pytest.raises(NotProven):
        message_depth(run.trace())


def ring_step(run: Run, rank: int, *, wait_now: bool) -> int:
    """Let a rank of three receive from one side and send to the other; return the receive."""
    received = run.irecv(rank, (rank - 1) % 3, file="/x/ring.py")
    sent = run.isend(rank, (rank + 1) % 3, file="/x/ring.py")
    run.complete(rank, sent)
    if wait_now:
        run.complete(rank, received, (rank - 1) % 3, 0)
        run.wait(rank, received, sent)
    return received


def ring(*, wait_now: bool) -> Run:
    run = Run(3)
    for rank in range(3):
        received = [ring_step(run, rank, wait_now=wait_now) for _ in range(4)]
        if not wait_now:
            for each in received:
                run.complete(rank, each, (rank - 1) % 3, 0)
            run.wait(rank, *received)
    return run


def test_a_ring_that_waits_before_it_passes_on_is_not_blamed() -> None:
    assert arrival_text(ring(wait_now=True).trace(), 0) == ""


def test_a_ring_that_passes_on_what_has_not_arrived_is_told() -> None:
    """The rank that is asked about first, if it does so."""
    assert arrival_text(ring(wait_now=False).trace(), 1) == (
        "Likely: rank 1 reads too early. It waits for its Irecv at ring.py:10 only after the "
        "next Isend at ring.py:40, which passes on the received data"
    )


@pytest.mark.parametrize("asked", [0, 1])
def test_a_receive_that_is_never_waited_for_is_told(asked: int) -> None:
    """Of another rank where the one that is asked about has none."""
    run = Run(2)
    run.irecv(1, 0, file="/x/naive.py")
    run.isend(0, 1)
    assert arrival_text(run.trace(), asked) == (
        "Likely: rank 1 uses the data of its Irecv at naive.py:10 without waiting for it. "
        "The data is valid only after the wait"
    )


def test_of_messages_that_all_arrived_only_a_result_without_them_tells() -> None:
    run = Run(4)
    received = run.irecv(0, 1, file="/x/naive.py")
    run.complete(0, received, 1, 0)
    run.wait(0, received)
    assert arrival_text(run.trace(), 0) == ""
    assert arrival_text(run.trace(), 0, uses_nothing=True) == (
        "Likely: the code leaves out what its Irecv at naive.py:10 received, or reads it too "
        "early. The data is valid only after the wait"
    )
    assert arrival_text(Run(4).trace(), 0, uses_nothing=True) == "", "nothing was received"
