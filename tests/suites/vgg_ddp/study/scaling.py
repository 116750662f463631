"""Figures of VGG-11 on 1, 2 and 4 nodes: the same batch for all, and the same for each."""

from grader.study import Chart, Series, Table

from .measures import (
    NETWORK,
    NUM_LAST,
    iteration_ms,
    last_loss,
    losses,
    modelled_s,
    num_iterations,
)
from .plan import BATCH_SIZE, BATCH_SIZE_EACH, DISTRIBUTED, LABELS, NODES, named

_IN_ALL = dict.fromkeys(NODES, BATCH_SIZE)
_ON_EACH = {nodes: BATCH_SIZE_EACH * nodes for nodes in NODES}
"""Examples of all nodes together, by nodes."""

_MODELLED = ("gather_scatter", "allreduce", "ddp")
"""isend and irecv send as much as gather and scatter."""


def scaling(results):
    """Return both charts, and the table of losses."""
    return [
        _times(results, "scaling", f"{BATCH_SIZE} examples in all", _IN_ALL),
        _times(results, "scaling_each", f"{BATCH_SIZE_EACH} examples on each", _ON_EACH),
        _losses(results),
    ]


def _times(results, name, work, batch_sizes):
    series = []
    for way in DISTRIBUTED:
        spreads = {
            nodes: iteration_ms(results, named(way, nodes, batch_size))
            for nodes, batch_size in batch_sizes.items()
        }
        series.append(Series.measured(LABELS[way], spreads, results.is_oversubscribed))
    for way in _MODELLED:
        model = {n: modelled_s(results, way, n, size) for n, size in batch_sizes.items()}
        times_ms = {n: each * 1e3 for n, each in model.items() if each is not None}
        series.append(Series.modelled(f"{LABELS[way]}, modelled", times_ms))
    has_model = any(each.is_modelled and each.dots for each in series)
    return Chart(
        name, f"Time of an iteration on 1, 2, and 4 nodes, {work}", "nodes", "time (ms)",
        tuple(series),
        f"{work}, iterations 1 to 9."
        + f" Modelled network: {NETWORK.describe()}." * has_model,
        is_log_x=True, x_ticks=NODES,
    )  # fmt: skip


def _losses(results):
    rows = []
    works = dict.fromkeys([*_IN_ALL.items(), *_ON_EACH.items()])
    same_runs = results.with_common_runs(
        [named(way, *work) for way in DISTRIBUTED for work in works]
    )
    for way in DISTRIBUTED:
        for nodes, batch_size in works:
            name = named(way, nodes, batch_size)
            series = losses(results, name)
            accuracy = same_runs.spread(name, "test_accuracy")
            rows.append(
                (
                    LABELS[way],
                    nodes,
                    batch_size // nodes,
                    last_loss(series) if series else None,
                    accuracy.text("{:.1%}") if accuracy else results.why_in_short(name),
                )
            )
    return Table(
        "scaling_losses", "Loss and accuracy on 1, 2, and 4 nodes",
        ("program", "nodes", "examples on each", f"last {NUM_LAST} losses, mean", "test accuracy"),
        tuple(rows),
        f"After {num_iterations(results)} iterations. Training loss: the first run's mean "
        "over the nodes. Smaller batches have noisier gradients and fewer examples.",
    )  # fmt: skip
