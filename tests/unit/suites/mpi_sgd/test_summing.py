"""Collectives are told from messages by hand, also where mpi4py makes the former of the latter."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from mpi_sgd import serial
from mpi_sgd.fit_cases import Fit
from mpi_sgd.summing import (
    assert_arrays_not_pickled,
    assert_collectives_carry_gradients,
    assert_gradients_given_once,
    assert_messages_carry_gradients,
    assert_ring_traffic,
)
from mpi_sgd.sync_cases import SEVERAL_STEPS, cases_by_ranks

from grader.api import Call, NotProven, Outcome, RuleViolation

from ...judge.build import outcome, trace_of
from .outcomes import call, inputs_of, raising

RANKS = 3
CASE: Fit = next(
    case
    for case in cases_by_ranks("sync_network.py", has_messages=True)[RANKS]
    if case.group == SEVERAL_STEPS
)
STEP_NUM_BYTES = 8 * serial.num_parameters(CASE.sizes)
DUMMIES_NUM_BYTES = 8 * 65
BIASES_NUM_BYTES = 8 * sum(CASE.sizes[1:])


def done(step_by_rank: Sequence[Sequence[Call]], once: Sequence[Call] = ()) -> Outcome:
    """Return the outcome of a fit whose ranks make these calls in every step."""
    blank = outcome(CASE, inputs_of(CASE, RANKS), [{}] * RANKS)
    calls = [[*once, *(CASE.num_steps * list(step))] for step in step_by_rank]
    return replace(blank, trace=trace_of(calls))


def everywhere(*calls: Call) -> list[Sequence[Call]]:
    return [calls] * RANKS


@pytest.mark.parametrize(
    "step",
    [
        everywhere(call("Allreduce", STEP_NUM_BYTES + DUMMIES_NUM_BYTES)),
        everywhere(call("Iallreduce", STEP_NUM_BYTES), call("Wait")),
        everywhere(call("Reduce", STEP_NUM_BYTES, peer=0), call("Bcast", STEP_NUM_BYTES, peer=0)),
        everywhere(call("Allgather", STEP_NUM_BYTES)),
        everywhere(*(call("Bcast", STEP_NUM_BYTES, peer=root) for root in range(RANKS))),
    ],
    ids=["Allreduce", "Iallreduce", "Reduce and Bcast", "Allgather", "Bcast by each"],
)
def test_every_collective_that_brings_gradients_together_will_do(step) -> None:
    assert_collectives_carry_gradients(CASE, done(step))
    assert_gradients_given_once(CASE, done(step))


def test_a_lower_case_allreduce_is_a_collective_too() -> None:
    own, pickle = 7, STEP_NUM_BYTES + 150
    receives = [call("Recv", pickle, peer=1, communicator=own), call("Recv", pickle, peer=2)]
    sends = [
        call("Send", 8, peer=0, communicator=own),
        call("Send", pickle, peer=0, communicator=own, pickled=True),
    ]
    hands_out = call("Bcast", pickle, peer=0, communicator=own, pickled=True)
    found = done(
        [[*receives, hands_out], [*sends, hands_out], [*sends, hands_out]], [call("Comm_dup")]
    )
    assert_collectives_carry_gradients(CASE, found)
    assert_gradients_given_once(CASE, found)


def test_messages_by_hand_are_no_collective() -> None:
    sends = [
        [call("Isend", STEP_NUM_BYTES, peer=peer, line=11) for peer in range(RANKS) if peer != rank]
        for rank in range(RANKS)
    ]
    keys = "sync.no_collective", "sync.message_by_hand"
    with raising(RuleViolation, *keys, ranks=(0, 1, 2)) as error:
        assert_collectives_carry_gradients(CASE, done(sends))
    assert error.value.findings[1].facts["place"] == "sync_network.py:11"


def test_a_token_collective_does_not_hide_messages_by_hand() -> None:
    to_rank_0 = [call("Send", STEP_NUM_BYTES, peer=0, line=12)]
    hands_out = call("Bcast", STEP_NUM_BYTES, peer=0, line=15)
    with raising(RuleViolation, "sync.summed_by_hand", "sync.message_by_hand") as error:
        assert_collectives_carry_gradients(
            CASE, done([[hands_out], [*to_rank_0, hands_out], [*to_rank_0, hands_out]])
        )
    place = {"rank": 1, "call": "Send", "place": "sync_network.py:12"}
    assert error.value.findings[1].facts == place


def test_a_rank_that_takes_no_part_is_named() -> None:
    steps = everywhere(call("Allreduce", STEP_NUM_BYTES))
    with raising(RuleViolation, "sync.no_collective", ranks=(2,)):
        assert_collectives_carry_gradients(CASE, done([*steps[:2], []]))


def test_a_trace_that_is_cut_short_proves_nothing() -> None:
    found = done(everywhere(call("Allreduce", STEP_NUM_BYTES)))
    cut = [replace(seen, truncated=True) for seen in found.trace.ranks]
    with pytest.raises(NotProven):
        assert_collectives_carry_gradients(
            CASE, replace(found, trace=replace(found.trace, ranks=tuple(cut)))
        )


def test_gradients_summed_twice_are_too_much() -> None:
    twice = everywhere(*(2 * [call("Allreduce", STEP_NUM_BYTES, line=22)]))
    keys = "sync.gradients_given_twice", "sync.calls_of_collectives"
    with raising(RuleViolation, *keys, rank=0) as error:
        assert_gradients_given_once(CASE, done(twice))
    assert "Allreduce at sync_network.py:22" in error.value.findings[1].text
    assert error.value.findings[1].facts["number"] == 2 * CASE.num_steps


def ring_step(num_bytes: int) -> list[Sequence[Call]]:
    return [[call("Isend", num_bytes, peer=(rank + 1) % RANKS)] for rank in range(RANKS)]


def test_the_traffic_of_rings_holds_with_and_without_padding_and_dummies() -> None:
    least = -(-2 * (RANKS - 1) * STEP_NUM_BYTES // RANKS)
    assert_ring_traffic(CASE, done(ring_step(least)))
    assert_ring_traffic(CASE, done(ring_step(least + 2 * (RANKS - 1) * DUMMIES_NUM_BYTES // RANKS)))


def test_rings_of_float32_take_half_the_bytes() -> None:
    """What they do to the values has a test of its own."""
    assert_ring_traffic(CASE, done(ring_step(-(-(RANKS - 1) * STEP_NUM_BYTES // RANKS))))


def test_pickle_headers_cost_nothing_here() -> None:
    chunk = -(-STEP_NUM_BYTES // RANKS) + 150
    step = [
        4 * [call("Isend", chunk, peer=(rank + 1) % RANKS, pickled=True)] for rank in range(RANKS)
    ]
    assert_ring_traffic(CASE, done(step))


@pytest.mark.parametrize("factor", [(RANKS - 1) * RANKS, 1])
def test_other_traffic_than_that_of_rings_is_told_in_bytes(factor: int) -> None:
    """Of the naive exchange each rank sends (n - 1) arrays, of a quarter of a ring too few."""
    num_bytes = factor * STEP_NUM_BYTES // RANKS
    in_all = RANKS * CASE.num_steps * num_bytes
    key = "sync_ring.traffic_unlike_a_ring"
    with raising(RuleViolation, key, num_bytes=in_all) as error:
        assert_ring_traffic(CASE, done(ring_step(num_bytes)))
    assert f"{in_all:,} bytes in 3 steps" in error.value.findings[0].text


def test_messages_that_could_carry_the_gradients_are_told_from_too_few() -> None:
    assert_messages_carry_gradients(CASE, done(ring_step(STEP_NUM_BYTES)))
    least = CASE.num_steps * (RANKS - 1) * STEP_NUM_BYTES
    with raising(RuleViolation, "sync_ring.too_little_sent", least_num_bytes=least):
        assert_messages_carry_gradients(CASE, done(ring_step(STEP_NUM_BYTES // 2)))


@pytest.mark.parametrize("function", ["Allreduce", "Iallgather", "Bcast"])
def test_a_collective_beside_a_ring_carries_the_gradients(function: str) -> None:
    reduced = call(function, STEP_NUM_BYTES, line=31)
    step = [[*ring, reduced] for ring in ring_step(STEP_NUM_BYTES)]
    facts = {"call": function, "place": "sync_network.py:31"}
    with raising(RuleViolation, "sync_ring.collective_carries_gradients", **facts):
        assert_messages_carry_gradients(CASE, done(step))


def test_a_collective_for_a_number_beside_a_ring_carries_none() -> None:
    step = [[*ring, call("Allreduce", 8)] for ring in ring_step(STEP_NUM_BYTES)]
    assert_messages_carry_gradients(CASE, done(step))


def beside(function: str, num_bytes: int) -> Outcome:
    """Return a fit whose collective takes so many bytes of a step, and a float32 ring the rest."""
    ring = ring_step(-(-(RANKS - 1) * (STEP_NUM_BYTES - num_bytes) // RANKS))
    return done([[*step, call(function, num_bytes, peer=0)] for step in ring])


def test_messages_need_not_carry_what_a_collective_sums() -> None:
    """A ring of the weights alone is one; a ring that lacks weights only carries gradients."""
    biases = beside("Allreduce", BIASES_NUM_BYTES)
    assert_messages_carry_gradients(CASE, biases)
    assert_ring_traffic(CASE, biases)
    third = beside("Allreduce", STEP_NUM_BYTES // 3)
    assert_messages_carry_gradients(CASE, third)
    with raising(RuleViolation, "sync_ring.traffic_unlike_a_ring"):
        assert_ring_traffic(CASE, third)


@pytest.mark.parametrize("check", [assert_messages_carry_gradients, assert_ring_traffic])
def test_messages_must_carry_what_a_collective_does_not_sum(check) -> None:
    with pytest.raises(RuleViolation):
        check(CASE, beside("Bcast", STEP_NUM_BYTES // 3))


def test_a_pickled_number_is_no_array() -> None:
    number, array = (call("Isend", size, peer=0, pickled=True) for size in (21, 135))
    assert_arrays_not_pickled(trace_of([[], [number]]))
    with raising(RuleViolation, "rule.pickles", rank=1):
        assert_arrays_not_pickled(trace_of([[], [number, array]]))
