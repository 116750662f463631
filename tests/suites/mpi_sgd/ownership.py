"""Reads off the bytes of a trace which master owns which layers of an asynchronous network.

The networks of the suite are chosen so that no two sets of layers have nearly the same size:
what a worker sends to a master in a batch then names the layers, whether it travels in one packed
message, in two per layer, or pickled.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, combinations

from grader.api import Call, RuleViolation, Trace, counted, found, listed, messages

from .fit_cases import FLOAT64_NUM_BYTES

Layers = frozenset[int]

SMALL_NUM_BYTES = 64
"""Of a message that may hold a number or a word beside the layers."""
ALLOWANCE_NUM_BYTES = 3000
"""Per batch: what the two dummies, pickle headers and a message with a count may add."""


def num_bytes_sent(trace: Trace, source: int, destination: int) -> int:
    """Return how many bytes one rank sent to another, point to point."""
    return sum(call.num_bytes for call in messages(trace, source, destination))


def num_bytes_before(trace: Trace, master: int, worker: int, until_ns: float) -> int:
    """Return how many bytes of a worker a master had received before a moment."""
    return sum(
        call.received_num_bytes
        for call in _received(trace, master, worker)
        if call.completed_ns < until_ns
    )


def first_array_ns(trace: Trace, master: int, worker: int) -> float:
    """Return when a master received the first array of a worker; infinite where it never did."""
    received = _received(trace, master, worker)
    arrays = [call for call in received if call.received_num_bytes > SMALL_NUM_BYTES]
    return min((call.completed_ns for call in arrays), default=math.inf)


def more_than_share_ns(trace: Trace, master: int, worker: int, share: Fraction) -> float:
    """Return when a master had received more than a share of all bytes of a worker."""
    received = sorted(_received(trace, master, worker), key=lambda call: call.completed_ns)
    so_far = accumulate(call.received_num_bytes for call in received)
    most = share * sum(call.received_num_bytes for call in received)
    late = (call for call, number in zip(received, so_far, strict=True) if number > most)
    return next((call.completed_ns for call in late), math.inf)


def _received(trace: Trace, master: int, worker: int) -> list[Call]:
    calls = trace.ranks[master].calls
    is_complete = calls.column("completed_ns") > 0
    return [*calls.where(is_complete & (calls.column("matched_source") == worker))]


def layer_num_bytes(sizes: Sequence[int]) -> dict[int, int]:
    """Return the size of every layer, weights and biases together."""
    return {
        layer: FLOAT64_NUM_BYTES * sizes[layer] * (sizes[layer - 1] + 1)
        for layer in range(1, len(sizes))
    }


def layers_of_size(num_bytes: float, sizes: Sequence[int]) -> Layers | None:
    """Return the only set of layers that makes a message of about num_bytes; None if none does."""
    by_layer = layer_num_bytes(sizes)
    for number in range(len(by_layer) + 1):
        for layers in combinations(by_layer, number):
            extra = num_bytes - sum(by_layer[layer] for layer in layers)
            if 0 <= extra <= ALLOWANCE_NUM_BYTES:
                return frozenset(layers)
    return None


def assert_one_owner_per_layer(
    trace: Trace, sizes: Sequence[int], num_masters: int, num_batches: Mapping[int, int]
) -> dict[int, Layers]:
    """Return the layers of every master, as the gradients that workers sent it show.

    num_batches: of every worker, by rank.
    Raises RuleViolation when a worker sends a master no whole layers, a layer to two masters or
    none, or when the reply does not hold the layers whose gradients were sent.
    """
    owned: dict[int, Layers] = {}
    for worker, batches in num_batches.items():
        if batches == 0:
            continue
        for master in range(num_masters):
            there = num_bytes_sent(trace, worker, master)
            layers = _layers_per_batch(there, batches, sizes, worker, master)
            if owned.setdefault(master, layers) != layers:
                sent = f"rank {worker}: {_told(layers)}; another worker: {_told(owned[master])}"
                text = f"Two workers sent rank {master} gradients of different layers ({sent})."
                raise RuleViolation.of("layers.workers_disagree", text, rank=worker, master=master)
            _assert_replied(trace, sizes, worker, master, layers, batches)
    _assert_cover(owned, sizes)
    return owned


def _layers_per_batch(
    num_bytes: int, num_batches: int, sizes: Sequence[int], worker: int, master: int
) -> Layers:
    layers = layers_of_size(num_bytes / num_batches, sizes)
    if layers is None:
        by_layer = layer_num_bytes(sizes)
        told = ", ".join(f"layer {i}: {n:,}" for i, n in by_layer.items())
        raise RuleViolation(
            found(
                "layers.not_whole",
                f"Rank {worker} sent {num_bytes / num_batches:,.0f} bytes per "
                f"batch ({num_bytes:,} in {_batches(num_batches)}) to rank {master}: no set of "
                "whole layers has that size.",
                help="send the gradients of a layer's weights and biases to the same master",
                rank=worker,
                master=master,
                num_bytes=num_bytes,
            ),
            found(
                "layers.sizes",
                f"Weights and biases together have these sizes in bytes: {told}.",
                num_bytes=list(by_layer.values()),
            ),
        )
    return layers


def _assert_replied(
    trace: Trace, sizes: Sequence[int], worker: int, master: int, layers: Layers, num_batches: int
) -> None:
    """One reply more than batches is taken for start weights."""
    back = num_bytes_sent(trace, master, worker)
    if layers_of_size(back / num_batches, sizes) == layers:
        return
    if layers_of_size(back / (num_batches + 1), sizes) == layers:
        return
    one = sum(layer_num_bytes(sizes)[layer] for layer in layers)
    raise RuleViolation.of(
        "layers.reply_differs",
        f"Master rank {master} sent {back:,} bytes to rank {worker} over "
        f"{_batches(num_batches)}; sending back {_told(layers)} once per batch takes "
        f"{num_batches * one:,} bytes.",
        help="reply with the weights and biases of exactly the layers whose gradients arrived",
        rank=master,
        worker=worker,
        num_bytes=back,
        expected_num_bytes=num_batches * one,
    )


def _assert_cover(owned: Mapping[int, Layers], sizes: Sequence[int]) -> None:
    for layer in range(1, len(sizes)):
        owners = [master for master, layers in owned.items() if layer in layers]
        if owned and len(owners) != 1:
            told = f"masters {listed(map(str, owners))}" if owners else "no master"
            sent = f"The gradients of layer {layer} were sent to {told}"
            text = f"{sent}; every layer must belong to exactly one master."
            raise RuleViolation.of("layers.not_one_master", text, layer=layer, masters=owners)


def _batches(number: int) -> str:
    return counted(number, "batch", "batches")


def _told(layers: Layers) -> str:
    if not layers:
        return "no layer"
    return f"layer{'s' * (len(layers) > 1)} {', '.join(map(str, sorted(layers)))}"
