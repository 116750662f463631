"""Charts and tables of the trainings: time, speed-up, accuracy, laws, staleness."""

from typing import Any

from grader.study import Chart, Series, Spread, Table

from . import modelled
from .laws import ONE_RANK, amdahl, gustafson
from .plan import (
    BATCH_SIZE,
    MASTERS,
    RANKS,
    WAYS,
    WORKERS,
    asynchronous,
    gentle,
    gentle_serial,
    serial,
    sync,
)
from .series import (
    level,
    measured,
    modelled_times_s,
    speed_ups_of,
    spreads_of,
    staleness_of,
)

SERIAL = "serial"
_SLOW = (
    ' With "rate / workers", the rate is divided by the number of workers (Zhang et al. 2016). '
    "Old gradients then do less harm, but the network learns little in so few steps."
)
_SLOW_ALONE = " The serial program at that rate shows how little."


def training_figures(results):
    """Return what the sheet asks of the two kinds of training."""
    return [
        *_sync(results),
        amdahl(results),
        gustafson(results),
        *_async(results),
        _staleness(results),
        _table(results),
    ]


def _work(results):
    return f"{modelled.num_steps(results)} steps with a total batch of {BATCH_SIZE} examples"


def _sync(results):
    alone = results.spread(serial(), "time_s")
    accuracy = results.spread(serial(), "accuracy")
    common: dict[str, Any] = {"x_label": "ranks", "is_log_x": True, "x_ticks": RANKS}
    times, speed_ups, accuracies = [], [], []
    for way, label in WAYS.items():
        names = {ranks: sync(way, ranks) for ranks in RANKS}
        times.append(measured(results, label, spreads_of(results, names, "time_s")))
        speed_ups.append(measured(results, label, speed_ups_of(results, names)))
        accuracies.append(measured(results, label, spreads_of(results, names, "accuracy")))
    for way, label in WAYS.items():
        model = modelled_times_s(results, way)
        name = f"{label}, modelled"
        times.append(Series.modelled(name, model))
        if 1 in model:
            ratios = {ranks: model[1] / time_s for ranks, time_s in model.items()}
            speed_ups.append(Series.modelled(name, ratios))
    times.append(level(SERIAL, alone, RANKS))
    accuracies.append(level(SERIAL, accuracy, RANKS))
    network = (
        f"Modelled for a network with {modelled.NETWORK.describe()}; compute times were measured."
    )
    work = _work(results)
    return [
        Chart(
            "sync_run_time", "Synchronous training: run time by rank count", y_label="time (s)",
            series=tuple(times), is_log_y=True,
            caption=f"{work}, from MPI.Init to MPI.Finalize. {network}", **common,
        ),
        Chart(
            "sync_speed_up", "Synchronous training: speed-up over the serial program",
            y_label="speed-up", series=tuple(speed_ups), caption=f"{work}. {ONE_RANK} {network}",
            **common,
        ),
        Chart(
            "sync_accuracy", "Synchronous training: accuracy by rank count", y_label="accuracy",
            series=tuple(accuracies), is_share=True,
            caption=f"Test accuracy after {work}.", **common,
        ),
    ]  # fmt: skip


def _async(results):
    times: list[Series] = []
    speed_ups: list[Series] = []
    accuracies: list[Series] = []
    models = []
    for masters in MASTERS:
        names = {workers: asynchronous(masters, workers) for workers in WORKERS}
        label = f"{masters} masters"

        def ranks_of(workers, masters=masters):
            return masters + workers

        for chart, spreads in (
            (times, spreads_of(results, names, "time_s")),
            (speed_ups, speed_ups_of(results, names)),
            (accuracies, spreads_of(results, names, "accuracy")),
        ):
            chart.append(measured(results, label, spreads, ranks_of))
        steps = {workers: modelled.async_step_s(results, masters, workers) for workers in WORKERS}
        model = {
            workers: each * modelled.num_steps(results)
            for workers, each in steps.items()
            if each is not None
        }
        models.append((f"{label}, modelled", model))
    alone = results.spread(serial(), "time_s")
    times += [Series.modelled(name, model) for name, model in models]
    if alone is not None:
        speed_ups += [
            Series.modelled(name, {n: alone.median / each for n, each in model.items()})
            for name, model in models
        ]
    for label, names in (
        ("2 masters, rate / workers", {workers: gentle(2, workers) for workers in WORKERS[2:]}),
        ("serial, rate / workers", {workers: gentle_serial(workers) for workers in WORKERS[2:]}),
    ):
        num_others = 2 if "masters" in label else -max(WORKERS)
        spreads = spreads_of(results, names, "accuracy")
        accuracies.append(
            measured(results, label, spreads, lambda workers, more=num_others: workers + more)
        )
    of_masters, alone_too = (bool(each.dots) for each in accuracies[len(MASTERS) :])
    slow = _SLOW * (of_masters or alone_too) + _SLOW_ALONE * alone_too
    times.append(level(SERIAL, alone, WORKERS))
    accuracies.append(level(SERIAL, results.spread(serial(), "accuracy"), WORKERS))
    common: dict[str, Any] = {"x_label": "workers", "x_ticks": WORKERS, "is_log_x": True}
    work = _work(results).replace("a total batch of", "batches of")
    network = (
        f"Modelled for a network with {modelled.NETWORK.describe()}; compute times were measured."
    )
    return [
        Chart(
            "async_run_time", "Asynchronous training: run time by worker count", y_label="time (s)",
            series=tuple(times), is_log_y=True,
            caption=f"{work}, by all workers together. {network}", **common,
        ),
        Chart(
            "async_speed_up", "Asynchronous training: speed-up over the serial program",
            y_label="speed-up", series=tuple(speed_ups), caption=f"{work}. {network}", **common,
        ),
        Chart(
            "async_accuracy", "Asynchronous training: accuracy by worker count", y_label="accuracy",
            series=tuple(accuracies), is_share=True,
            caption=f"Test accuracy after {work} by all workers together.{slow}", **common,
        ),
    ]  # fmt: skip


def _staleness(results):
    series = []
    for masters in MASTERS:
        found = {workers: staleness_of(results, masters, workers) for workers in WORKERS}
        means = {workers: mean for workers, (mean, _) in found.items()}
        mosts = {
            workers: None if mean is None else Spread(most, most, most, mean.num_runs)
            for workers, (mean, most) in found.items()
        }
        for word, spreads in (("mean", means), ("most", mosts)):
            label = f"{masters} masters, {word}"
            series.append(
                measured(results, label, spreads, lambda workers, more=masters: workers + more)
            )
    expected = {workers: float(workers - 1) for workers in WORKERS}
    series.append(Series.modelled("workers - 1", expected, has_marks=False))
    return Chart(
        "async_staleness", "Asynchronous training: the age of gradients", "workers",
        "steps by others in between", tuple(series),
        "The number of steps between computing a gradient and using it, counted exactly: each step "
        "increments a counter in an unused bias.",
        x_ticks=WORKERS, is_log_x=True,
    )  # fmt: skip


def _table(results):
    rows = []
    names = [("serial", serial(), 1)]
    names += [(sync(way, ranks), sync(way, ranks), ranks) for way in WAYS for ranks in RANKS]
    names += [
        (asynchronous(masters, workers), asynchronous(masters, workers), masters + workers)
        for masters in MASTERS
        for workers in WORKERS
    ]
    for label, name, ranks in names:
        time = results.spread(name, "time_s")
        accuracy = results.spread(name, "accuracy")
        faster = results.speed_up(name, serial())
        rows.append(
            (
                label,
                ranks,
                "yes" if results.is_oversubscribed(ranks) else "no",
                time.text("{:.3g}") if time else results.why_in_short(name),
                round(faster.median, 2) if faster else None,
                f"{accuracy.median:.1%}" if accuracy else None,
            )
        )
    columns = ("training", "ranks", "more ranks than cores", "time (s)", "speed-up", "accuracy")
    return Table(
        "trainings", "All training runs and the serial program", columns, tuple(rows),
        f"{_work(results)}; each asynchronous worker takes whole batches.",
    )  # fmt: skip
