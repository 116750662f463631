"""Modelled time of a training, made of measured computing and of messages on a stated network."""

from itertools import pairwise

from grader.study import Network

from .plan import BATCH_SIZE, serial

SIZES = (784, 128, 64, 10)
NETWORK = Network()
CLUSTER = Network(latency_s=2e-6, num_bytes_per_s=12.5e9)
"""Of a cluster for computing: on the slower one there is no speed-up that a law could describe."""
# By layer, the dummy of the input first: of weights and of biases.
WEIGHTS = (1, *(before * after for before, after in pairwise(SIZES)))
ARRAYS = tuple(8 * each for layer in zip(WEIGHTS, SIZES, strict=True) for each in layer)
"""Bytes of each array of gradients."""


def step_s(results, batch_size=BATCH_SIZE):
    """Return the median time of a step of the serial training; None where it was not measured."""
    spread = results.spread(serial(batch_size), "time_s")
    return None if spread is None else spread.median / num_steps(results)


def num_steps(results):
    """Return in how many steps the serial training's time was measured: those of its settings."""
    reports = results.reports(serial())
    return reports[0][0]["num_steps"] if reports else 0


def sync_step_s(results, way, ranks, batch_size, network=NETWORK):
    """Return the modelled time of a step on so many ranks; None where the computing is not known.

    batch_size: on each rank.
    """
    compute_s = step_s(results, batch_size)
    if compute_s is None:
        return None
    if ranks == 1:
        return compute_s
    cost = network.ring_s if way == "ring" else network.collective_s
    return compute_s + sum(cost(ranks, num_bytes) for num_bytes in ARRAYS)


def async_step_s(results, masters, workers):
    """Return the modelled time between two steps of a master; None where computing is not known.

    Either the workers are the bottleneck, each busy with its gradient and its messages, or the
    master that most bytes go through.
    """
    compute_s = step_s(results)
    if compute_s is None:
        return None
    exchange_s = 2 * sum(NETWORK.message_s(num_bytes) for num_bytes in ARRAYS)
    by_master = [0.0] * masters
    for layer in range(len(SIZES)):
        own = ARRAYS[2 * layer : 2 * layer + 2]
        by_master[layer % masters] += 2 * sum(NETWORK.message_s(num_bytes) for num_bytes in own)
    return max((compute_s + exchange_s) / workers, *by_master)
