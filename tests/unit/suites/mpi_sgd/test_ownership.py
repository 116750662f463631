"""Layers are read off bytes, whatever style the messages have."""

from itertools import combinations, pairwise

import pytest
from mpi_sgd import async_cases, ownership

from grader.api import RuleViolation, Trace

from ...judge.build import trace_of
from .outcomes import call, raising

SIZES = async_cases.LARGE_LAYERS
BY_LAYER = ownership.layer_num_bytes(SIZES)
BATCHES = {2: 3, 3: 2}


def test_no_two_sets_of_layers_can_be_taken_for_each_other() -> None:
    sets = [set(c) for n in range(len(BY_LAYER) + 1) for c in combinations(BY_LAYER, n)]
    totals = sorted(sum(BY_LAYER[layer] for layer in layers) for layers in sets)
    assert min(b - a for a, b in pairwise(totals)) > (ownership.ALLOWANCE_NUM_BYTES)
    dummies_num_bytes = 8 + 8 * SIZES[0]
    assert dummies_num_bytes < ownership.ALLOWANCE_NUM_BYTES


@pytest.mark.parametrize("extra", [0, 8 + 8 * SIZES[0], 8 * 150])
def test_a_message_names_its_layers_with_dummies_and_pickle_headers(extra: int) -> None:
    assert ownership.layers_of_size(BY_LAYER[2] + BY_LAYER[4] + extra, SIZES) == {2, 4}
    assert ownership.layers_of_size(extra, SIZES) == frozenset()


def test_a_message_with_part_of_a_layer_names_none() -> None:
    assert ownership.layers_of_size(BY_LAYER[4] - 8, SIZES) is None
    assert ownership.layers_of_size(BY_LAYER[1] - 8, SIZES) is None


def test_alternate_layers_of_two_masters_are_read_off() -> None:
    trace = traffic({0: {2, 4}, 1: {1, 3}})
    owned = ownership.assert_one_owner_per_layer(trace, SIZES, 2, BATCHES)
    assert owned == {0: {2, 4}, 1: {1, 3}}


def test_a_worker_without_batches_tells_nothing() -> None:
    trace = traffic({0: {1, 2, 3, 4}, 1: set()})
    owned = ownership.assert_one_owner_per_layer(trace, SIZES, 2, {**BATCHES, 4: 0})
    assert owned == {0: {1, 2, 3, 4}, 1: set()}


def test_all_layers_sent_to_all_masters_are_a_violation() -> None:
    every = {1, 2, 3, 4}
    with raising(RuleViolation, "layers.not_one_master", layer=1, masters=(0, 1)):
        ownership.assert_one_owner_per_layer(traffic({0: every, 1: every}), SIZES, 2, BATCHES)


def test_a_layer_without_master_is_a_violation() -> None:
    with raising(RuleViolation, "layers.not_one_master", layer=3, masters=()):
        ownership.assert_one_owner_per_layer(traffic({0: {2, 4}, 1: {1}}), SIZES, 2, BATCHES)


def test_weights_without_biases_are_a_violation() -> None:
    trace = traffic({0: {2, 4}, 1: {1, 3}}, lost_num_bytes=8 * 27)
    with raising(RuleViolation, "layers.not_whole", "layers.sizes", rank=2, master=0):
        ownership.assert_one_owner_per_layer(trace, SIZES, 2, BATCHES)


def test_replies_that_lack_a_layer_are_a_violation() -> None:
    trace = traffic({0: {2, 4}, 1: {1, 3}}, replies={0: {2}, 1: {1, 3}})
    with raising(RuleViolation, "layers.reply_differs", rank=0, worker=2):
        ownership.assert_one_owner_per_layer(trace, SIZES, 2, BATCHES)


def test_workers_that_send_a_master_other_layers_are_a_violation() -> None:
    trace = traffic({0: {1, 2, 3, 4}, 1: set()})
    swapped = {4: 2, **BATCHES}
    calls = [list(seen.calls) for seen in trace.ranks]
    calls[4] = [call("Isend", BY_LAYER[1], peer=0)] * 2
    calls[0] += [call("Isend", BY_LAYER[1], peer=4)] * 2
    with raising(RuleViolation, "layers.workers_disagree", rank=2, master=0):
        ownership.assert_one_owner_per_layer(trace_of(calls), SIZES, 2, swapped)


def test_start_weights_sent_before_the_first_batch_are_allowed() -> None:
    trace = traffic({0: {2, 4}, 1: {1, 3}}, num_replies_more=1)
    ownership.assert_one_owner_per_layer(trace, SIZES, 2, BATCHES)


def traffic(
    owned: dict[int, set[int]],
    replies: dict[int, set[int]] | None = None,
    num_replies_more: int = 0,
    lost_num_bytes: int = 0,
) -> Trace:
    """Return a trace of 2 masters and 3 workers, of which rank 4 has no batch."""
    sends: dict[int, list[tuple[int, int]]] = {rank: [] for rank in range(5)}
    for master, layers in owned.items():
        size = sum(BY_LAYER[layer] for layer in layers)
        back = sum(BY_LAYER[layer] for layer in (replies or owned)[master])
        for worker, batches in BATCHES.items():
            sends[worker] += [(master, size - lost_num_bytes)] * batches
            sends[master] += [(worker, back)] * (batches + num_replies_more)
        if master != 0:
            sends[master].append((0, size))  # the final gathering
    return trace_of(
        [
            [call("Isend", num_bytes, peer=peer) for peer, num_bytes in messages]
            for messages in sends.values()
        ]
    )
