"""Traffic of the trainings: enough, once, and by way of the server."""

from dataclasses import replace
from typing import Any

import pytest
from federated.gathering import (
    assert_gives,
    assert_gives_once,
    assert_server_gives,
    assert_star,
    averaging_root,
    given_num_bytes,
)
from federated.lenet import IMAGE_NUM_BYTES, MODEL_NUM_BYTES

from grader.judge.check_failures import RuleViolation
from grader.trace.calls import NO_PEER, Call, Trace

from ...judge import build
from .runs import raises


def call(function: str, num_bytes: int, **fields: Any) -> Call:
    """Return a call that was completed in the student's phase."""
    own = {"num_elements": num_bytes, "num_bytes": num_bytes}
    own |= {"communicator": 1, "communicator_size": 3, "file": "fed_avg.py", "line": 7}
    return build.call(function, **{**own, **fields})


def reduction(num_bytes: int, *, peer: int) -> list[Call]:
    """Return what a lower-case reduction sends another rank at once: a length, and a pickle."""
    sent = replace(call("Send", num_bytes, peer=peer, communicator=5), pickled=True)
    return [replace(sent, num_elements=1, num_bytes=8, pickled=False), sent]


def trace_of(*calls_by_rank: list[Call]) -> Trace:
    """Return the complete trace of ranks that made these calls."""
    return build.trace_of(calls_by_rank)


MODEL_TO_SERVER = call("Send", MODEL_NUM_BYTES, peer=0)


def test_messages_and_collectives_count_where_they_are_given():
    trace = trace_of(
        [call("Bcast", 100, peer=0), call("Gatherv", 8, peer=0)],
        [call("Bcast", 100, peer=0), call("Gatherv", 30, peer=0), call("Send", 5, peer=0)],
    )
    assert [given_num_bytes(trace, rank) for rank in (0, 1)] == [108, 35]


def test_of_a_reduce_scatter_all_pieces_are_given():
    """The call tells one of them."""
    trace = trace_of([call("Reduce_scatter_block", 100), call("Allgather", 100)])
    assert given_num_bytes(trace, 0) == 100 * trace.ranks[0].calls[0].communicator_size + 100


def test_a_persistent_collective_counts_when_it_is_started():
    started = replace(call("Start", 100), creates_request=True)
    from_root = replace(call("Start", 60, peer=1), creates_request=True)
    calls = [call("Allreduce_init", 100), call("Bcast_init", 60, peer=1), from_root]
    trace = trace_of([*calls, *[started] * 3], calls)
    assert [given_num_bytes(trace, rank) for rank in range(2)] == [300, 60]


def test_too_little_is_told_with_both_numbers():
    trace = trace_of([], [MODEL_TO_SERVER])
    assert_gives(trace, [1], 1, what="models of the rounds")
    facts = {"num_bytes": MODEL_NUM_BYTES, "needed_num_bytes": 2 * MODEL_NUM_BYTES}
    with raises("traffic.too_few_bytes", "248,024 bytes; 2 x", RuleViolation, rank=1, **facts):
        assert_gives(trace, [1], 2, what="models of the rounds")
    compressed = replace(MODEL_TO_SERVER, sampled_num_bytes=-1)
    assert_gives(trace_of([], [compressed]), [1], 2, what="models of the rounds")


def test_too_much_is_told_apart_from_what_is_needed():
    trace = trace_of([], [MODEL_TO_SERVER, MODEL_TO_SERVER])
    assert_gives_once(trace, [1], 2, what="models of the rounds")
    facts = {"num_bytes": 2 * MODEL_NUM_BYTES, "needed_num_bytes": MODEL_NUM_BYTES}
    with raises(
        "traffic.too_many_bytes", "496,048 bytes; .* 248,024", RuleViolation, rank=1, **facts
    ):
        assert_gives_once(trace, [1], 1, what="models of the rounds")


def test_sums_passed_on_by_a_lower_case_reduce_are_not_given_twice():
    own = [call("Comm_dup", -1), *reduction(MODEL_NUM_BYTES, peer=0) * 3]
    assert_gives_once(trace_of([], own), [1], 1, what="models of the rounds")
    with raises("traffic.too_many_bytes", kind=RuleViolation):
        assert_gives_once(
            trace_of([], [*own, *[MODEL_TO_SERVER] * 2]), [1], 1, what="models of the rounds"
        )


@pytest.mark.parametrize(
    ("server", "worker"),
    [
        ([call("Send", MODEL_NUM_BYTES, peer=1), call("Send", 2 * IMAGE_NUM_BYTES, peer=1)], []),
        ([call("Send", MODEL_NUM_BYTES + 2 * IMAGE_NUM_BYTES, peer=1)], []),
        # The root of a scatter knows no piece's size.
        (
            [call("Bcast", MODEL_NUM_BYTES, peer=0), call("Scatterv", -1, peer=0)],
            [
                call("Bcast", MODEL_NUM_BYTES, peer=0),
                call("Scatterv", 2 * IMAGE_NUM_BYTES, peer=0),
            ],
        ),
    ],
)
def test_data_and_model_of_the_server_count_however_they_come(server, worker):
    assert_server_gives(trace_of(server, worker), {1: 2}, 1, when="1 step")


@pytest.mark.parametrize(
    ("server", "worker"),
    [
        ([call("Send", MODEL_NUM_BYTES, peer=1)], []),
        ([call("Send", MODEL_NUM_BYTES + 2 * IMAGE_NUM_BYTES, peer=2)], []),
        ([], [call("Bcast", 10**6, peer=2)]),
        ([], [call("Gatherv", 10**6, peer=0)]),
        ([call("Comm_dup", -1), *reduction(10**6, peer=1)], []),
    ],
)
def test_a_server_that_keeps_data_or_model_back_is_told_with_both_numbers(server, worker):
    facts = {"rank": 1, "needed_num_bytes": MODEL_NUM_BYTES + 2 * IMAGE_NUM_BYTES}
    words = r"takes 248,024, and the 2 images .* take 24,576"
    with raises("server.gives_too_little", words, RuleViolation, **facts):
        assert_server_gives(trace_of(server, worker, []), {1: 2}, 1, when="1 step")


def test_everything_by_way_of_the_server_holds():
    assert_star(
        trace_of(
            [call("Send", 10**6, peer=1), call("Bcast", 10**6, peer=0), call("Barrier", -1)],
            [MODEL_TO_SERVER, call("Bcast", 10**6, peer=0), call("Barrier", -1)],
            [MODEL_TO_SERVER, call("Bcast", 10**6, peer=0), call("Barrier", -1)],
        )
    )


def test_a_message_between_clients_is_named():
    trace = trace_of([], [call("Send", 10**6, peer=2)], [])
    facts = {"rank": 1, "other": 2, "call": "Send", "place": "fed_avg.py:7"}
    with raises("server.bypassed_by_message", "1,000,000 bytes", RuleViolation, **facts):
        assert_star(trace)


def test_messages_of_a_lower_case_reduce_are_its_own_affair():
    own = [call("Comm_dup", -1, communicator=1), *reduction(10**6, peer=2)]
    assert_star(trace_of([], own, []))


@pytest.mark.parametrize(("function", "peer"), [("Allgatherv", NO_PEER), ("Bcast", 1)])
def test_a_collective_that_is_not_the_servers_is_named(function, peer):
    trace = trace_of([], [call(function, 10**6, peer=peer)], [])
    facts = {"rank": 1, "call": function, "place": "fed_avg.py:7"}
    with raises("server.bypassed_by_collective", "1,000,000 bytes", RuleViolation, **facts):
        assert_star(trace)


@pytest.mark.parametrize(
    ("gathered", "num_models", "root"),
    [("Gatherv", 1, 1), ("Gatherv", 3, None), ("Reduce", 1, None)],
)
def test_a_root_that_gathers_and_gives_back_one_model_averages(gathered, num_models, root):
    """Not one that passes on all that it has gathered, nor one that gets a sum."""
    given = call(gathered, MODEL_NUM_BYTES, peer=1)
    back = call("Bcast", num_models * MODEL_NUM_BYTES, peer=1)
    assert averaging_root(trace_of(*[[given, back]] * 3), 1) == root


@pytest.mark.parametrize(
    ("size", "beside", "root"), [(3, 0, 1), (3, MODEL_NUM_BYTES, None), (2, 0, None)]
)
def test_a_root_may_average_by_messages(size, beside, root):
    """Of two ranks each may do so, and of three that all send each other their gradients."""
    others = [rank for rank in range(size) if rank != 1]
    calls = [[call("Send", MODEL_NUM_BYTES, peer=1)] for _ in range(size)]
    calls[1] = [call("Send", MODEL_NUM_BYTES, peer=other) for other in others]
    if beside:
        calls[0].append(call("Send", beside, peer=2))
        calls[2].append(call("Send", beside, peer=0))
    assert averaging_root(trace_of(*calls), 1) == root
