"""What the judge makes of a trace takes steps that grow like its calls, not like their square."""

import sys
from collections.abc import Callable

import pytest

from grader.judge.deadlock.unmatched import left_behind
from grader.judge.explanation.bytes_carried import exchanged
from grader.judge.explanation.crash_hints import size_mismatch
from grader.judge.explanation.timeline import edges_of, timeline_of
from grader.judge.explanation.trace_doubts import InFlight, contradictions, disagreements
from grader.judge.traffic.collective_calls import name_lower_case
from grader.trace.calls import Trace

from ..build import Run, explain_deadlock

NUM_CALLS = 200
MOST_GROWTH = 2.3
"""Of the steps for twice as many calls; four times as many would be a square."""


def num_steps(look: Callable[[Trace], object], trace: Trace) -> int:
    """Return how many instructions of Python it takes to look at a trace."""
    number = 0

    def count(frame, event, argument):
        nonlocal number
        frame.f_trace_opcodes = True
        number += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        look(trace)
    finally:
        sys.settrace(before)
    return number


def many_messages(num_calls: int) -> Trace:
    """Both ranks send to each other, each message with a tag of its own, and receive."""
    run = Run(2)
    for tag in range(num_calls):
        run.isend(0, 1, tag)
        run.recv(1, 0, tag)
        run.call(0, "Comm_dup", communicator=1 + tag)
    return run.trace()


def many_polls(num_calls: int) -> Trace:
    """A rank polls for one request after the other, and has cancelled as many others."""
    run = Run(2)
    for tag in range(num_calls):
        run.call(0, "Cancel", waits_for=(run.irecv(0, 1, tag),))
    for request in [run.irecv(0, 1, tag) for tag in range(num_calls)]:
        run.poll(0, request)
    run.enter_recv(1, 0)
    return run.trace()


def many_probes(num_calls: int) -> Trace:
    """A rank probes for each of many tags; as many messages have come with others."""
    run = Run(2)
    for tag in range(num_calls):
        run.isend(1, 0, num_calls + tag)
    run.enter_recv(1, 0)
    for tag in range(num_calls):
        run.poll(0, function="Iprobe", peer=1, tag=tag)
    return run.trace()


def many_near_misses(num_calls: int) -> Trace:
    """A rank waits for many messages, and as many have come with other tags."""
    run = Run(2)
    for tag in range(num_calls):
        run.isend(1, 0, num_calls + tag)
    run.enter_recv(1, 0)
    run.enter_wait(0, *(run.irecv(0, 1, tag) for tag in range(num_calls)))
    return run.trace()


def many_barriers(num_calls: int) -> Trace:
    """A rank is in the last of many barriers, and the other stays away from it."""
    run = Run(2)
    for _ in range(num_calls):
        run.call(0, "Barrier")
        run.call(1, "Barrier")
    run.enter(0, "Barrier")
    run.enter_recv(1, 0)
    return run.trace()


def many_sums(num_calls: int) -> Trace:
    """Both ranks sum up by torch.distributed again and again, and send a message each time."""
    run = Run(2)
    for tag in range(num_calls):
        for rank in range(2):
            run.call(rank, "all_reduce", num_elements=1, num_bytes=4)
        run.send(0, 1, tag, function="send")
        run.recv(1, 0, tag, function="recv")
    return run.trace()


def message_too_long(num_calls: int) -> Trace:
    """After many messages of different tags comes one that is too long."""
    run = Run(2)
    for tag in range(num_calls):
        run.isend(1, 0, num_calls - tag)
    run.isend(1, 0, 0, num_elements=2)
    for tag in range(num_calls):
        run.irecv(0, 1, 1 + tag)
    run.change(0, run.irecv(0, 1, 0), error=15)
    return run.trace()


@pytest.mark.parametrize(
    ("made", "look"),
    [
        (many_messages, timeline_of),
        (many_messages, edges_of),
        (many_messages, name_lower_case),
        (many_messages, lambda trace: disagreements(trace, InFlight())),
        (many_messages, lambda trace: list(contradictions(trace, 0, 1 << 62))),
        (many_polls, explain_deadlock),
        (many_probes, explain_deadlock),
        (many_probes, lambda trace: left_behind(trace, frozenset({1}))),
        (many_near_misses, explain_deadlock),
        (many_barriers, explain_deadlock),
        (many_sums, lambda trace: list(exchanged(trace))),
        (message_too_long, lambda trace: size_mismatch(trace, 0)),
    ],
)
def test_twice_as_many_calls_take_twice_as_many_steps(made, look):
    """Of calls a student may make; a rank may record 32,768 of any kind in a case."""
    few, many = made(NUM_CALLS), made(2 * NUM_CALLS)
    assert num_steps(look, many) < MOST_GROWTH * num_steps(look, few)


def test_as_text_a_trace_is_as_long_as_a_short_one():
    """Whoever formats the arguments of a function formats traces."""
    assert len(repr(many_messages(2 * NUM_CALLS))) < 1.1 * len(repr(many_messages(NUM_CALLS)))


@pytest.mark.parametrize(
    "made", [many_polls, many_probes, many_near_misses, many_barriers, message_too_long]
)
def test_such_traces_tell_something(made):
    """Else it would say nothing that little is done with them."""
    told = size_mismatch(made(20), 0) if made is message_too_long else explain_deadlock(made(20))
    assert told
