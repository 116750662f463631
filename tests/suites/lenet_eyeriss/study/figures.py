"""Charts and tables of LeNet-5: curves, each rank's accuracies, time by processes."""

from typing import Any

from grader.study import OF_COMMON_RUNS, Chart, Dot, Network, Series, Spread, Table

from .plan import FAST_RATE, LEARNING_RATE, METHODS, PROCESSES, SHOWN, named

NETWORK = Network()
NUM_BYTES = 4 * 61706
NUM_ARRAYS = 10


def figures(results):
    """Return all charts and tables."""
    return [
        *(
            _curve(results, rate, key, label)
            for rate in (LEARNING_RATE, FAST_RATE)
            for key, label in (("loss", "loss"), ("accuracy", "training accuracy"))
        ),
        _accuracies(results),
        _times(results),
        _sent(),
    ]


def of_same_seeds(results, rate):
    """Return the results with those runs at a rate that both methods have."""
    return results.with_common_runs([named(each, SHOWN, rate) for each in METHODS])


def curve(results, method, rate, key):
    """Return {epoch: Spread} of rank 0 over the runs of both methods; empty without one."""
    reports = of_same_seeds(results, rate).reports(named(method, SHOWN, rate))
    runs = [ranks[0] for ranks in reports]
    values = zip(*(run[key] for run in runs), strict=True)
    return dict(zip(runs[0]["epoch"], map(Spread.of, values), strict=True)) if runs else {}


def _curve(results, rate, key, label):
    series = []
    for method, shown in METHODS.items():
        spreads = curve(results, method, rate, key)
        dots = tuple(Dot.of(epoch, spread) for epoch, spread in spreads.items())
        series.append(Series(f"{shown}, {SHOWN} processes", dots))
    at = f"learning rate {rate:g}"
    why = "" if rate == LEARNING_RATE else (
        f" At the handout's rate, {LEARNING_RATE:g}, the network learns little in so few steps."
    )  # fmt: skip
    return Chart(
        f"{key}_{'sheet' if rate == LEARNING_RATE else 'fast'}",
        f"LeNet-5: {label} by epoch, {at}", "epoch", label, tuple(series),
        f"100 examples, {100 // SHOWN} on each process, one step per epoch, {at}; measured over "
        f"all 100 examples. Overlapping lines agree. {OF_COMMON_RUNS}{why}",
        is_share=key == "accuracy", begins_at_zero=rate != LEARNING_RATE,
    )  # fmt: skip


def _accuracies(results):
    rows: list[tuple[Any, ...]] = []
    for rate in (LEARNING_RATE, FAST_RATE):
        for method, label in METHODS.items():
            name = named(method, SHOWN, rate)
            reports = of_same_seeds(results, rate).reports(name)
            if not reports:
                why = results.why_in_short(name)
                rows.append((label, f"{rate:g}", "all", why, None))
                continue
            for rank in range(SHOWN):
                cells = [
                    Spread.of(run[rank][key] for run in reports).text("{:.1%}")
                    for key in ("own_accuracy", "validation")
                ]
                rows.append((label, f"{rate:g}", rank, *cells))
    return Table(
        "accuracy_of_each_rank", "LeNet-5: training and validation accuracy of each rank",
        ("method", "rate", "rank", "training, its own examples", "validation"), tuple(rows),
        "After the last epoch. Each rank is measured on its own training examples, and on all "
        "test images. The models are equal, so the validation accuracies must agree.",
    )  # fmt: skip


def modelled_s(results, method, processes):
    """Return the modelled time of a training; None where its computing was not measured."""
    alone = [each.median for n in METHODS if (each := results.spread(named(n, 1), "run_time_s"))]
    if not alone:
        return None
    # One process computes on all examples, each of several on its share of them.
    compute_s, epochs = min(alone) / processes, 100
    if method == "ring_allreduce":
        return compute_s + epochs * NETWORK.ring_s(processes, NUM_BYTES)
    arrays_s = 2 * (processes - 1) * (NUM_ARRAYS * NETWORK.latency_s)
    return compute_s + epochs * (
        arrays_s + 2 * (processes - 1) * NUM_BYTES / NETWORK.num_bytes_per_s
    )


def _times(results):
    series = []
    for method, label in METHODS.items():
        spreads = {n: results.spread(named(method, n), "run_time_s") for n in PROCESSES}
        series.append(Series.measured(label, spreads, results.is_oversubscribed))
    for method, label in METHODS.items():
        model = {n: modelled_s(results, method, n) for n in PROCESSES}
        series.append(Series.modelled(f"{label}, modelled", model))
    return Chart(
        "training_time", "LeNet-5: training time by number of processes", "processes", "time (s)",
        tuple(series),
        "100 epochs with gloo over the loopback interface, without measuring accuracies. "
        "Modelled: process 0 collects and returns the ten tensors one by one, or one ring carries "
        "all gradients. The computation is split among the processes. Network: "
        f"{NETWORK.describe()}.",
        is_log_x=True, is_log_y=True, x_ticks=PROCESSES,
    )  # fmt: skip


def _sent():
    rows = []
    for n in PROCESSES:
        ring = round(2 * (n - 1) / n * NUM_BYTES)
        rows.append((n, (n - 1) * NUM_BYTES, NUM_BYTES if n > 1 else 0, ring))
    return Table(
        "bytes_sent", "LeNet-5: bytes sent per process and epoch, by formula",
        ("processes", "all-reduce, process 0", "all-reduce, others", "ring, each"), tuple(rows),
        "For 61,706 gradients of 4 bytes; computed, not measured. In the all-reduce, process 0 "
        "collects the gradients and returns their mean.",
        is_measured=False,
    )  # fmt: skip
