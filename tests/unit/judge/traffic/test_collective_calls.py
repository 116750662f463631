"""Calls that mpi4py makes are named as what the program wrote, and count as its own."""

from dataclasses import replace

import pytest

from grader.judge.traffic.collective_calls import name_lower_case, reduction_communicators
from grader.trace.call_formatting import signature_of
from grader.trace.calls import Call

from ..build import Run, explain_deadlock

OWN = 5


def begin_reduction(run: Run, rank: int, line: int = 3) -> dict[str, int]:
    at = {"communicator": OWN, "line": line, "place": 8}
    run.call(rank, "Comm_dup", line=line, place=8)
    return at


def hand_over(run: Run, rank: int, at: dict[str, int]) -> None:
    run.send(rank, 0, 3, num_bytes=8, **at)
    run.send(rank, 0, 3, num_elements=900, num_bytes=900, pickled=True, **at)


@pytest.mark.parametrize(("hands_out", "name"), [(True, "comm.allreduce"), (False, "comm.reduce")])
def test_a_reduction_is_named_by_whether_its_result_is_handed_out(hands_out, name):
    run = Run(2)
    at = begin_reduction(run, 1)
    hand_over(run, 1, at)
    if hands_out:
        run.call(1, "Bcast", **at)
    calls = name_lower_case(run.trace()).ranks[1].calls
    assert {call.made_by for call in calls if call.communicator == OWN} == {name}
    assert calls[0].made_by == ""


@pytest.mark.parametrize(
    ("function", "name"),
    [("Isend", "comm.isend"), ("Send", "comm.send"), ("Issend", "comm.issend")],
)
def test_what_sends_a_pickle_is_lower_case(function: str, name: str) -> None:
    run = Run(2)
    run.send(0, 1, function=function, pickled=True)
    run.send(0, 1, function=function)
    first, second = name_lower_case(run.trace()).ranks[0].calls
    assert signature_of(first) == f"{name} ({function} to rank 1)"
    assert signature_of(second) == f"{function}(dest=1, tag=0)"


def test_a_trace_without_lower_case_calls_is_left_as_it_is():
    run = Run(2)
    run.send(0, 1)
    trace = run.trace()
    assert name_lower_case(trace) is trace


def test_a_hang_within_a_lower_case_allreduce_is_told_as_such():
    """Rank 1 has handed its array over and waits for the result; rank 0 never came."""
    run = Run(2)
    at = begin_reduction(run, 1)
    hand_over(run, 1, at)
    run.enter(1, "Bcast", peer=0, **at)
    told = explain_deadlock(run.trace(), frozenset({0}))
    assert told is not None
    assert "rank 1 waits in comm.allreduce (Bcast) at ring.py:3" in told
    assert "Bcast(root=0)" not in told


def test_a_hang_in_the_first_length_of_a_lower_case_reduction_is_told_as_such():
    """The rank is still in its first send, whose receive is never posted."""
    run = Run(2)
    at = begin_reduction(run, 1)
    run.enter_send(1, 0, 3, num_bytes=8, **at)
    told = explain_deadlock(run.trace(), frozenset({0}))
    assert told is not None
    assert "rank 1 waits in comm.reduce (Send to rank 0) at ring.py:3" in told


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
