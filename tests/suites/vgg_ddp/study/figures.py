"""Charts and tables of VGG-11 five ways."""

from grader.study import OF_COMMON_RUNS, Chart, Dot, Series, Table

from .measures import (
    NETWORK,
    each_iteration_s,
    iteration_ms,
    iteration_s,
    losses,
    modelled_s,
    nodes_of,
    num_iterations,
    of_same_seeds,
)
from .plan import BATCH_SIZE, LABELS, NODES, WAYS, WINDOWS, named
from .scaling import scaling


def figures(results):
    """Return all charts and tables."""
    return [
        _iteration_times(results),
        _windows(results),
        _each_iteration(results),
        _losses(results),
        _loss_table(results),
        _tests(results, "test_loss", "Average loss on the test images", "loss", False),
        _tests(results, "test_accuracy", "Accuracy on the test images", "accuracy", True),
        *scaling(results),
    ]


def _iteration_times(results):
    measured, modelled = [], []
    for way, label in LABELS.items():
        spread = iteration_ms(results, named(way, nodes_of(way)))
        if spread is not None:
            is_many = results.is_oversubscribed(nodes_of(way))
            measured.append(Dot.of(label, spread, is_oversubscribed=is_many))
            model = modelled_s(results, way, nodes_of(way))
            if model is not None:
                modelled.append(Dot.exact(label, model * 1e3))
    return Chart(
        "iteration_time", "Mean time of iterations 1 to 9, five ways", "", "time (ms)",
        (Series("measured", tuple(measured)), Series("modelled", tuple(modelled), True)),
        f"{BATCH_SIZE} examples on one node or on four; a narrow VGG-11 (4 channels in the first "
        "layer), with all nodes as processes on this machine."
        + " Modelled: the measured computing time of one node on its share, plus the time of "
        f"the messages. Network: {NETWORK.describe()}." * bool(modelled),
        is_bars=True, bars=tuple(LABELS.values()),
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
        "Times of the slowest node, without iteration 0, which includes one-time work. "
        f"Modelled network: {NETWORK.describe()}.",
    )  # fmt: skip


def _each_iteration(results):
    series = []
    for way, label in LABELS.items():
        is_many = results.is_oversubscribed(nodes_of(way))
        times_s = each_iteration_s(results, named(way, nodes_of(way)))
        dots = (Dot(i, t * 1e3, t * 1e3, t * 1e3, is_many) for i, t in enumerate(times_s))
        series.append(Series(label, tuple(dots)))
    return Chart(
        "each_iteration", "Time of each iteration, five ways", "iteration", "time (ms)",
        tuple(series),
        f"{BATCH_SIZE} examples on one node or on four; times of the slowest node in the first "
        "run. The data lets you compute the mean over any window of iterations.",
        is_log_y=True,
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
        f"{BATCH_SIZE} examples on one node or on four; the mean over the nodes in the first run. "
        "Four nodes normalise batches of 64 each, and one node a batch of 256. The batches "
        "also differ, so the series are similar, not equal. Overlapping lines agree.",
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
        "One node for the first program, four for the others; the mean over the nodes.",
    )  # fmt: skip


def _tests(results, key, title, y_label, is_share):
    dots = []
    same_runs = of_same_seeds(results)
    for way in WAYS:
        label = LABELS[way]
        spread = same_runs.spread(named(way, nodes_of(way)), key)
        if spread is not None:
            dots.append(Dot.of(label, spread))
    return Chart(
        key, title, "", y_label, (Series(y_label, tuple(dots)),),
        f"Node 0's model after {num_iterations(results)} iterations; the nodes of one program "
        "differ only in the running statistics of batch normalization. A narrow network learns "
        f"little in so few iterations. {OF_COMMON_RUNS}",
        is_bars=True, is_share=is_share, bars=tuple(LABELS.values()),
    )  # fmt: skip
