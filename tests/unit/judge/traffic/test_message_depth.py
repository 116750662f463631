"""How many messages follow one another: in chains, trees, exchanges, and where all send first."""

import pytest

from grader.judge.check_failures import NotProven, RuleViolation
from grader.judge.traffic.message_depth import assert_message_depth, message_depth

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
        RuleViolation, match=r"3 messages form a chain.*2 are enough; .*: rank 0 -> 1 -> 2"
    ):
        assert_message_depth(trace, 2)


def test_a_trace_that_lost_calls_proves_nothing():
    run = Run(2)
    run.state(0, truncated=True)
    with pytest.raises(NotProven):
        message_depth(run.trace())
