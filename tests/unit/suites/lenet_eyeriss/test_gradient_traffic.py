"""The bounds on traffic let every way of cutting gradients into chunks pass, and no relay."""

from dataclasses import replace

import numpy as np
import pytest
from lenet_eyeriss.gradient_traffic import (
    assert_added_by_messages,
    assert_carried_by_messages,
    assert_contributes,
    assert_ring_share,
)
from lenet_eyeriss.serial import NUM_PARAMETERS, SHAPES

from grader.api import RuleViolation

from ...judge.build import trace_of
from .building import call, failing

EPOCHS = 2
WHOLE = call("isend", NUM_PARAMETERS, 1)


def chunk_lengths(style: str, num_ranks: int) -> list[list[int]]:
    """Return the lengths of the chunks of each array that goes round by itself."""
    lengths = [int(np.prod(shape)) for shape in SHAPES.values()]
    if style == "one vector":
        lengths = [sum(lengths)]
    if style == "rows":
        split = [np.array_split(np.zeros(shape), num_ranks) for shape in SHAPES.values()]
        return [[chunk.size for chunk in chunks] for chunks in split]
    if style == "padded":
        return [[-(-length // num_ranks)] * num_ranks for length in lengths]
    return [[len(c) for c in np.array_split(np.zeros(n), num_ranks)] for n in lengths]


def ring(num_ranks: int, style: str):
    """Return the trace of ring all-reduces, cut in this style."""
    calls = []
    for rank in range(num_ranks):
        sends = []
        for chunks in chunk_lengths(style, num_ranks):
            for step in range(num_ranks - 1):
                sends += [chunks[(rank - step) % num_ranks], chunks[(rank + 1 - step) % num_ranks]]
        right = (rank + 1) % num_ranks
        calls.append([call("isend", length, right) for length in sends] * EPOCHS)
    return trace_of(calls)


@pytest.mark.parametrize("num_ranks", [2, 4, 5, 8])
@pytest.mark.parametrize("style", ["one vector", "tensor by tensor", "rows", "padded"])
def test_every_way_of_cutting_passes(num_ranks: int, style: str) -> None:
    assert_ring_share(ring(num_ranks, style), EPOCHS)
    assert_contributes(ring(num_ranks, style), range(num_ranks), EPOCHS)
    assert_carried_by_messages(ring(num_ranks, style), EPOCHS)


@pytest.mark.parametrize("num_ranks", [4, 5, 8])
def test_relaying_whole_arrays_is_too_much(num_ranks: int) -> None:
    relay = [
        [call("isend", NUM_PARAMETERS, (rank + 1) % num_ranks)] * (num_ranks - 1) * EPOCHS
        for rank in range(num_ranks)
    ]
    keys = "ring.sends_too_much", "ring.share"
    with failing(RuleViolation, *keys, sent=NUM_PARAMETERS * (num_ranks - 1)):
        assert_ring_share(trace_of(relay), EPOCHS)


def test_less_than_the_minimum_cannot_be_a_ring_of_these_gradients() -> None:
    with failing(RuleViolation, "traffic.too_few_sent", expected=370236):
        assert_ring_share(ring(4, "one vector"), 3 * EPOCHS)


@pytest.mark.parametrize(
    "rank_0, others",
    [
        ([call("all_reduce", NUM_PARAMETERS)], [call("all_reduce", NUM_PARAMETERS)]),
        (
            [call("gather", NUM_PARAMETERS, 0), call("broadcast", NUM_PARAMETERS, 0)],
            [call("gather", NUM_PARAMETERS, 0), call("broadcast", NUM_PARAMETERS, 0)],
        ),
        (
            [call("recv", NUM_PARAMETERS, 1), call("send", NUM_PARAMETERS, 1)],
            [call("send", NUM_PARAMETERS, 0), call("recv", NUM_PARAMETERS, 0)],
        ),
    ],
)
def test_any_operation_may_carry_the_gradients(rank_0, others) -> None:
    assert_contributes(trace_of([rank_0 * EPOCHS, others * EPOCHS]), (0, 1), EPOCHS)


@pytest.mark.parametrize(
    "silent",
    [
        [],
        [call("barrier", 0)],
        [call("recv", NUM_PARAMETERS, 0)],
        [call("broadcast", NUM_PARAMETERS, 0)],
        [call("scatter", NUM_PARAMETERS, 0)],
    ],
)
def test_who_only_receives_has_not_shared_its_gradients(silent) -> None:
    whole = [call("all_gather", NUM_PARAMETERS)] * EPOCHS
    with failing(RuleViolation, "traffic.gradients_not_given", rank=1, given=0):
        assert_contributes(trace_of([whole, silent * EPOCHS]), (0, 1), EPOCHS)
    assert_contributes(trace_of([whole, silent * EPOCHS]), (0,), EPOCHS)


@pytest.mark.parametrize(
    "calls, is_added, is_carried",
    [
        ([call("barrier", 0), WHOLE], True, True),
        ([call("all_reduce", 1), WHOLE], True, True),
        ([call("all_gather", NUM_PARAMETERS // 2), WHOLE], True, False),
        ([call("all_gather", NUM_PARAMETERS), WHOLE], False, False),
        ([call("all_reduce", 100), WHOLE], False, False),
        ([call("reduce_scatter", NUM_PARAMETERS), WHOLE], False, False),
        ([*(call("broadcast", NUM_PARAMETERS // 2, rank) for rank in (0, 1)), WHOLE], True, False),
        ([call("broadcast", NUM_PARAMETERS, 0), WHOLE], False, False),
    ],
)
def test_a_collective_may_carry_finished_chunks_at_most(calls, is_added, is_carried) -> None:
    trace = trace_of([calls * EPOCHS, [*calls[:-1], replace(WHOLE, peer=0)] * EPOCHS])
    for check, holds in (
        (assert_added_by_messages, is_added),
        (assert_carried_by_messages, is_carried),
    ):
        if holds:
            check(trace, EPOCHS)
            continue
        name = calls[0].function
        key = "ring.collective_adds" if "reduce" in name else "ring.collective_carries"
        with failing(RuleViolation, key, rank=0, call=name, place="ring_allreduce.py:1"):
            check(trace, EPOCHS)


@pytest.mark.parametrize("check", [assert_added_by_messages, assert_carried_by_messages])
def test_gradients_that_came_without_messages_are_told(check) -> None:
    with failing(RuleViolation, "traffic.too_few_sent", sent=0):
        check(trace_of([[call("barrier", 0)]] * 2), EPOCHS)
