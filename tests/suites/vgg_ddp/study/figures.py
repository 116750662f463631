"""Charts and tables of VGG-11 five ways."""

import math

from grader.study import Chart, Dot, Network, Series, Spread, Table

from .plan import BATCH_SIZE, LABELS, NODES, WAYS, WINDOWS, named, single_share

NETWORK = Network()
_MIB = 2**20
_BACKWARD = 2 / 3
"""The share of computing during which DistributedDataParallel may reduce."""


def figures(results):
    """Return all charts and tables."""
    return [
        _iteration_times(results),
        _windows(results),
        _losses(results),
        _loss_table(results),
        _tests(results, "test_loss", "Average loss on the test images", "loss", False),
        _tests(results, "test_accuracy", "Accuracy on the test images", "accuracy", True),
        _scaling(results),
    ]


def nodes_of(way):
    """Return on how many nodes a way is compared with the others."""
    return 1 if way == "single" else 4


def iteration_s(results, name, window):
    """Return the mean time of the iterations of a window, on the slowest node; None if too few."""
    first, last = window
    means = []
    for nodes in results.reports(name):
        times_s = [node["times_s"][first : last + 1] for node in nodes]
        if all(len(each) == last + 1 - first for each in times_s):
            means.append(max(sum(each) / len(each) for each in times_s))
    return Spread.of(means) if means else None


def losses(results, name):
    """Return the loss of each iteration, the mean over the nodes, of the first run."""
    for nodes in results.reports(name):
        return [sum(each) / len(each) for each in zip(*(n["losses"] for n in nodes), strict=False)]
    return []


def modelled_s(results, way, nodes):
    """Return the modelled time of an iteration; None where its computing was not measured.

    Part 2a goes through node 0, one message after the other; the others are rings, of each tensor,
    or of DistributedDataParallel's buckets while backward goes on.
    """
    alone = named("single", 1) if nodes == 1 else single_share(nodes)
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


def _dot(results, x, spread, nodes, factor=1.0):
    many = results.is_oversubscribed(nodes)
    return Dot(x, spread.median * factor, spread.low * factor, spread.high * factor, many)


def _iteration_times(results):
    measured, modelled = [], []
    for way, label in WAYS.items():
        label = LABELS[way]
        spread = iteration_s(results, named(way, nodes_of(way)), WINDOWS[0])
        if spread is not None:
            measured.append(_dot(results, label, spread, nodes_of(way), 1e3))
            model = modelled_s(results, way, nodes_of(way))
            if model is not None:
                modelled.append(Dot.exact(label, model * 1e3))
    return Chart(
        "iteration_time", "Mean time of iterations 1 to 9, five ways", "", "time (ms)",
        (Series("measured", tuple(measured)), Series("modelled", tuple(modelled), True)),
        f"{BATCH_SIZE} examples in all, one node or four; a narrow VGG-11 (4 channels first), all "
        "nodes processes of this machine. Modelled: measured computing of one node on its share, "
        f"and messages: {NETWORK.describe()}.",
        is_bars=True,
    )  # fmt: skip


def _windows(results):
    rows = []
    for way in WAYS:
        for nodes in (1,) if way == "single" else NODES:
            name = named(way, nodes)
            spreads = [iteration_s(results, name, window) for window in WINDOWS]
            cells = [
                s.times(1e3).text()
                if s is not None
                else results.why_in_short(name) or "fewer iterations"
                for s in spreads
            ]
            model = modelled_s(results, way, nodes)
            rows.append((LABELS[way], nodes, *cells, None if model is None else model * 1e3))
    heads = [f"iterations {first} to {last} (ms)" for first, last in WINDOWS]
    return Table(
        "iteration_times", "Mean time of an iteration by program and nodes",
        ("program", "nodes", *heads, "modelled (ms)"), tuple(rows),
        "On the slowest node. Iteration 0 is left out: it also pays for what is done only once. "
        f"Modelled on {NETWORK.describe()}.",
    )  # fmt: skip


def _losses(results):
    series = [
        Series(
            LABELS[way],
            tuple(
                Dot.exact(i, loss)
                for i, loss in enumerate(losses(results, named(way, nodes_of(way))))
            ),
        )
        for way in WAYS
    ]
    return Chart(
        "losses", "Training loss by iteration, five ways", "iteration", "loss", tuple(series),
        f"{BATCH_SIZE} examples in all, one node or four; the mean over the nodes, of the first "
        "run. Four nodes normalize batches of 64 each, one node a batch of 256, and they draw "
        "other batches: so the series are alike, not equal. Where lines hide each other "
        "they agree.",
    )  # fmt: skip


def _loss_table(results):
    columns = {way: losses(results, named(way, nodes_of(way))) for way in WAYS}
    length = max((len(each) for each in columns.values()), default=0)
    step = max(1, length // 12)
    rows = tuple(
        (i, *(round(each[i], 4) if i < len(each) else None for each in columns.values()))
        for i in range(0, length, step)
    )
    return Table(
        "loss_series", "Training loss side by side",
        ("iteration", *(LABELS[way] for way in WAYS)), rows,
        "One node, and four of the others; the mean over the nodes.",
    )  # fmt: skip


def _tests(results, key, title, y_label, is_share):
    dots = []
    for way in WAYS:
        label = LABELS[way]
        spread = results.spread(named(way, nodes_of(way)), key)
        if spread is not None:
            dots.append(Dot.of(label, spread))
    return Chart(
        key, title, "", y_label, (Series(y_label, tuple(dots)),),
        "Of node 0's model after all iterations; the nodes of one program differ only in the "
        "running means of batch normalization. Few iterations of a narrow network learn little.",
        is_bars=True, is_share=is_share,
    )  # fmt: skip


def _scaling(results):
    series = []
    for way in WAYS:
        if way == "single":
            continue
        spreads = {n: iteration_s(results, named(way, n), WINDOWS[0]) for n in NODES}
        dots = [_dot(results, n, s, n, 1e3) for n, s in spreads.items() if s is not None]
        series.append(Series(LABELS[way], tuple(dots)))
    for way in ("gather_scatter", "allreduce", "ddp"):
        model = {n: modelled_s(results, way, n) for n in NODES}
        dots = [Dot.exact(n, each * 1e3) for n, each in model.items() if each is not None]
        series.append(Series(f"{LABELS[way]}, modelled", tuple(dots), True))
    return Chart(
        "scaling", "Time of an iteration on 1, 2 and 4 nodes", "nodes", "time (ms)",
        tuple(series),
        f"{BATCH_SIZE} examples in all, iterations 1 to 9. Modelled: {NETWORK.describe()}.",
        is_log_x=True, x_ticks=NODES,
    )  # fmt: skip
