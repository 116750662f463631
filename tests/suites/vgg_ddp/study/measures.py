"""Measures of VGG-11 for its charts: times of iterations, losses, modelled times."""

import math

from grader.study import Network, Spread

from .plan import BATCH_SIZE, WAYS, WINDOWS, named

NETWORK = Network()
_MIB = 2**20
_BACKWARD = 2 / 3
"""The share of computing during which DistributedDataParallel may reduce."""

NUM_LAST = 3
"""So many of the last losses are averaged: single ones jump."""


def nodes_of(way):
    """Return on how many nodes a way is compared with the others."""
    return 1 if way == "single" else 4


def of_same_seeds(results):
    """Return the results with those runs of the ways that all of them have."""
    return results.with_common_runs([named(way, nodes_of(way)) for way in WAYS])


def iteration_s(results, name, window):
    """Return the mean time of the iterations of a window, on the slowest node; None if too few."""
    first, last = window
    means = []
    for nodes in results.reports(name):
        times_s = [node["times_s"][first : last + 1] for node in nodes]
        if all(len(each) == last + 1 - first for each in times_s):
            means.append(max(sum(each) / len(each) for each in times_s))
    return Spread.of(means) if means else None


def each_iteration_s(results, name):
    """Return the time of each iteration of the first run, on the node that it took longest on."""
    for nodes in results.reports(name):
        return [max(each) for each in zip(*(node["times_s"] for node in nodes), strict=False)]
    return []


def losses(results, name):
    """Return the loss of each iteration, the mean over the nodes, of the first run."""
    for nodes in results.reports(name):
        return [sum(each) / len(each) for each in zip(*(n["losses"] for n in nodes), strict=False)]
    return []


def last_loss(series):
    """Return the mean of the last losses of a training."""
    return sum(series[-NUM_LAST:]) / len(series[-NUM_LAST:])


def num_iterations(results):
    """Return how many iterations each training has; the same in all of a study."""
    return max((len(node["losses"]) for name in results.runs for run in results.reports(name)
                for node in run), default=0)  # fmt: skip


def modelled_s(results, way, nodes, batch_size=BATCH_SIZE):
    """Return the modelled time of an iteration; None where its computing was not measured.

    batch_size: examples of all nodes together.

    Part 2a goes through node 0, one message after the other; the others are rings, of each tensor,
    or of DistributedDataParallel's buckets while backward goes on.
    """
    alone = named("single", 1, batch_size // nodes)
    compute = iteration_s(results, alone, WINDOWS[0])
    if compute is None:
        return None
    if way == "single" or nodes == 1:
        return compute.median
    tensors = results.reports(alone)[0][0]["num_bytes"]
    if way in ("gather_scatter", "isend_irecv"):
        return compute.median + sum(NETWORK.star_s(nodes, num_bytes) for num_bytes in tensors)
    if way == "allreduce":
        return compute.median + sum(NETWORK.ring_s(nodes, num_bytes) for num_bytes in tensors)
    total = sum(tensors)
    # A first bucket of 1 MiB, then of 25 MiB each.
    buckets = 1 + math.ceil(max(0, total / _MIB - 1) / 25)
    ring_s = buckets * NETWORK.ring_s(nodes, total / buckets)
    return compute.median + max(0.0, ring_s - compute.median * _BACKWARD)


def iteration_ms(results, name):
    """Return the mean time of iterations 1 to 9 in milliseconds; None where it was not measured."""
    spread = iteration_s(results, name, WINDOWS[0])
    return None if spread is None else spread.times(1e3)
