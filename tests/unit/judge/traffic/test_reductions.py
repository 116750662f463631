"""Only what mpi4py sends within lower-case reductions counts as its own."""

from dataclasses import replace

import pytest

from grader.judge.traffic.collective_calls import reduction_communicators
from grader.trace.calls import Call

from ..build import Run

OWN = 5


def reducing_rank() -> list[Call]:
    """Return the calls of two reductions, the second from another line."""
    run = Run(2)
    run.call(0, "Comm_dup", line=3, place=8)
    for line in (3, 4):
        at = {"communicator": OWN, "line": line, "place": 8 * line - 16}
        run.send(0, 1, line, num_bytes=8, **at)
        run.send(0, 1, line, num_elements=900, num_bytes=900, pickled=True, **at)
    run.call(0, "Bcast", communicator=OWN, line=4, place=16)
    run.send(0, 1, num_elements=900, line=5, place=24)
    return list(run.trace().ranks[0].calls)


def test_a_copy_that_only_reductions_use_is_mpi4pys_own():
    assert reduction_communicators(reducing_rank()) == {OWN}


@pytest.mark.parametrize(
    ("which", "changes"),
    [
        (0, {"place": 9}),  # made by another call of the same line
        (0, {"line": 2}),
        (1, {"num_elements": 2}),
        (1, {"tag": 9}),
        (2, {"pickled": False}),
        (2, {"peer": 0}),
        (4, {"place": 17}),
        (4, {"function": "Isend"}),
        (5, {"function": "Allgather"}),
    ],
)
def test_a_copy_that_is_used_by_hand_is_not(which, changes):
    calls = reducing_rank()
    calls[which] = replace(calls[which], **changes)
    assert reduction_communicators(calls) == set()


def test_one_message_more_by_hand_makes_all_of_them_the_programs():
    calls = reducing_rank()
    assert reduction_communicators([*calls, calls[2]]) == set()
