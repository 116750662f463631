"""Charts and tables of the trainings: time, speed-up, accuracy, laws, staleness."""

from typing import Any

from grader.study import Chart, Dot, Series, Spread, Table, amdahl_fraction, gustafson_fraction
from grader.study.model import amdahl_speed_up, gustafson_speed_up

from . import modelled
from .plan import (
    BATCH_SIZE,
    MASTERS,
    RANKS,
    WAYS,
    WORKERS,
    asynchronous,
    gentle,
    scaled,
    serial,
    sync,
)

SERIAL = "serial"
LEAST_POINTS = 3
"""Measured without sharing cores, for a law to be fitted to them."""


def training_figures(results):
    """Return what the sheet asks of the two kinds of training."""
    return [
        *_sync(results),
        _amdahl(results),
        _gustafson(results),
        *_async(results),
        _staleness(results),
        _table(results),
    ]


def sync_speed_ups(results, way):
    """Return measured speed-ups by ranks, {ranks: Spread}."""
    return _speed_ups(results, {ranks: sync(way, ranks) for ranks in RANKS})


def _speed_ups(results, names):
    alone = results.spread(serial(), "time_s")
    found = {}
    for x, name in names.items():
        times_s = results.numbers(name, "time_s")
        if alone is not None and times_s:
            found[x] = Spread.of(alone.median / time_s for time_s in times_s)
    return found


def _dots(results, spreads, ranks_of=lambda x: x):
    return tuple(
        Dot.of(x, spread, is_oversubscribed=results.is_oversubscribed(ranks_of(x)))
        for x, spread in spreads.items()
        if spread is not None
    )


def _spreads(results, names, key):
    return {x: results.spread(name, key) for x, name in names.items()}


def _work(results):
    return f"{modelled.num_steps(results)} steps with batches of {BATCH_SIZE} examples in all"


def _modelled_times_s(results, way):
    times_s = {
        ranks: modelled.sync_step_s(results, way, ranks, BATCH_SIZE // ranks) for ranks in RANKS
    }
    return {
        ranks: each * modelled.num_steps(results)
        for ranks, each in times_s.items()
        if each is not None
    }


def _sync(results):
    alone = results.spread(serial(), "time_s")
    accuracy = results.spread(serial(), "accuracy")
    common: dict[str, Any] = {"x_label": "ranks", "is_log_x": True, "x_ticks": RANKS}
    times, speed_ups, accuracies = [], [], []
    for way, label in WAYS.items():
        names = {ranks: sync(way, ranks) for ranks in RANKS}
        times.append(Series(label, _dots(results, _spreads(results, names, "time_s"))))
        speed_ups.append(Series(label, _dots(results, _speed_ups(results, names))))
        accuracies.append(Series(label, _dots(results, _spreads(results, names, "accuracy"))))
    for way, label in WAYS.items():
        model = _modelled_times_s(results, way)
        name = f"{label}, modelled"
        times.append(Series(name, _exact(model), is_modelled=True))
        if 1 in model:
            ratios = {ranks: model[1] / time_s for ranks, time_s in model.items()}
            speed_ups.append(Series(name, _exact(ratios), is_modelled=True))
    times.append(_level(SERIAL, alone, RANKS))
    accuracies.append(_level(SERIAL, accuracy, RANKS))
    network = f"Modelled on a network of {modelled.NETWORK.describe()}; its computing was measured."
    work = _work(results)
    return [
        Chart(
            "sync_run_time", "Synchronous training: run time by ranks", y_label="time (s)",
            series=tuple(times), is_log_y=True,
            caption=f"{work}, from MPI.Init to MPI.Finalize. {network}", **common,
        ),
        Chart(
            "sync_speed_up", "Synchronous training: speed-up against the serial program",
            y_label="speed-up", series=tuple(speed_ups), caption=f"{work}. {network}", **common,
        ),
        Chart(
            "sync_accuracy", "Synchronous training: accuracy by ranks", y_label="accuracy",
            series=tuple(accuracies), is_share=True,
            caption=f"On the test images, after {work}.", **common,
        ),
    ]  # fmt: skip


def _exact(by_x):
    return tuple(Dot.exact(x, y) for x, y in by_x.items())


def _level(label, spread, xs):
    if spread is None:
        return Series(label, ())
    dots = tuple(Dot.of(x, spread) for x in (min(xs), max(xs)))
    return Series(label, dots, has_marks=False)


def law(results, way="ring"):
    """Return (the times a law is fitted to, by ranks; whether they are modelled ones)."""
    measured = {
        ranks: spread.median
        for ranks, spread in _spreads(results, {n: sync(way, n) for n in RANKS}, "time_s").items()
        if spread is not None and not results.is_oversubscribed(ranks)
    }
    if len(measured) >= LEAST_POINTS:
        return measured, False
    return _modelled_times_s(results, way), True


def _amdahl(results):
    series, said = [], []
    for way, label in WAYS.items():
        times_s, is_modelled = law(results, way)
        series.append(Series(f"{label}, measured", _dots(results, sync_speed_ups(results, way))))
        if 1 not in times_s or len(times_s) < 2:
            continue
        fraction = amdahl_fraction(list(times_s), list(times_s.values()), times_s[1])
        if is_modelled:
            ratios = {ranks: times_s[1] / time_s for ranks, time_s in times_s.items()}
            series.append(Series(f"{label}, modelled", _exact(ratios), True))
        curve = {ranks: amdahl_speed_up(ranks, fraction) for ranks in RANKS}
        series.append(
            Series(f"Amdahl, serial share {fraction:.1%}", _exact(curve), True, has_marks=False)
        )
        kind = "modelled" if is_modelled else "measured"
        most = f"at most {1 / fraction:.1f} times as fast" if fraction else "no limit"
        said.append(f"{label}: fitted to {kind} time, serial share {fraction:.1%}, {most}.")
    return Chart(
        "amdahl", "Amdahl's law: one size of work on more ranks", "ranks", "speed-up",
        tuple(series),
        " ".join(said)
        + " The law knows no messages, whose share grows with the ranks. Fitted to modelled time "
        f"where fewer than {LEAST_POINTS} measured points have a core for each rank. Model: "
        f"{modelled.NETWORK.describe()}.",
        is_log_x=True, x_ticks=RANKS,
    )  # fmt: skip


def scaled_speed_ups(results):
    """Return (scaled speed-ups by ranks, whether they are modelled): the work grows with ranks."""
    alone_s = modelled.step_s(results)
    if alone_s is None:
        return {}, True
    measured = {1: 1.0}
    for ranks in RANKS[1:]:
        spread = results.spread(scaled(ranks), "step_s")
        if spread is not None and not results.is_oversubscribed(ranks):
            measured[ranks] = ranks * alone_s / spread.median
    if len(measured) >= LEAST_POINTS:
        return measured, False
    model = {n: modelled.sync_step_s(results, "ring", n, BATCH_SIZE) for n in RANKS}
    return {n: n * alone_s / each for n, each in model.items() if each is not None}, True


def _gustafson(results):
    alone_s = modelled.step_s(results)
    spreads = {}
    for ranks in RANKS[1:]:
        steps_s = results.numbers(scaled(ranks), "step_s")
        if steps_s and alone_s is not None:
            spreads[ranks] = Spread.of(ranks * alone_s / each for each in steps_s)
    series = [Series("own ring, measured", _dots(results, spreads))]
    ratios, is_modelled = scaled_speed_ups(results)
    said = ""
    if len(ratios) > 1:
        fraction = gustafson_fraction(list(ratios), list(ratios.values()))
        if is_modelled:
            series.append(Series("own ring, modelled", _exact(ratios), True))
        curve = {ranks: gustafson_speed_up(ranks, fraction) for ranks in RANKS}
        series.append(
            Series(f"Gustafson, serial share {fraction:.1%}", _exact(curve), True, has_marks=False)
        )
        kind = "modelled" if is_modelled else "measured"
        said = f"Fitted to {kind} time: serial share {fraction:.1%}."
    return Chart(
        "gustafson", "Gustafson's law: work that grows with the ranks", "ranks",
        "scaled speed-up", tuple(series),
        f"Each rank has {BATCH_SIZE} examples a step, so n ranks do n times the work. {said} "
        f"Model: {modelled.NETWORK.describe()}.",
        is_log_x=True, x_ticks=RANKS,
    )  # fmt: skip


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
            (times, _spreads(results, names, "time_s")),
            (speed_ups, _speed_ups(results, names)),
            (accuracies, _spreads(results, names, "accuracy")),
        ):
            chart.append(Series(label, _dots(results, spreads, ranks_of)))
        steps = {workers: modelled.async_step_s(results, masters, workers) for workers in WORKERS}
        model = {
            workers: each * modelled.num_steps(results)
            for workers, each in steps.items()
            if each is not None
        }
        models.append((f"{label}, modelled", model))
    alone = results.spread(serial(), "time_s")
    times += [Series(name, _exact(model), True) for name, model in models]
    if alone is not None:
        speed_ups += [
            Series(name, _exact({n: alone.median / each for n, each in model.items()}), True)
            for name, model in models
        ]
    names = {workers: gentle(2, workers) for workers in WORKERS}
    spreads = _spreads(results, names, "accuracy")
    accuracies.append(
        Series("2 masters, rate / workers", _dots(results, spreads, lambda workers: workers + 2))
    )
    times.append(_level(SERIAL, alone, WORKERS))
    accuracies.append(_level(SERIAL, results.spread(serial(), "accuracy"), WORKERS))
    common: dict[str, Any] = {"x_label": "workers", "x_ticks": WORKERS, "is_log_x": True}
    work = _work(results).replace("in all", "each")
    network = f"Modelled on a network of {modelled.NETWORK.describe()}; its computing was measured."
    return [
        Chart(
            "async_run_time", "Asynchronous training: run time by workers", y_label="time (s)",
            series=tuple(times), is_log_y=True, caption=f"{work}, of all workers. {network}",
            **common,
        ),
        Chart(
            "async_speed_up", "Asynchronous training: speed-up against the serial program",
            y_label="speed-up", series=tuple(speed_ups), caption=f"{work}. {network}", **common,
        ),
        Chart(
            "async_accuracy", "Asynchronous training: accuracy by workers", y_label="accuracy",
            series=tuple(accuracies), is_share=True,
            caption=f"On the test images, after {work} of all workers. With `rate / workers` a "
            "step is divided by the number of workers, which makes old gradients harmless "
            "(Zhang et al. 2016).",
            **common,
        ),
    ]  # fmt: skip


def staleness_of(results, masters, workers):
    """Return how old gradients were, over all workers and runs: mean per run, and the most."""
    means, most = [], 0
    for ranks in results.reports(asynchronous(masters, workers)):
        ages = [age for each in ranks for age in each["staleness"]]
        if ages and max(ages) >= 0:
            means.append(sum(ages) / len(ages))
            most = max(most, *ages)
    return Spread.of(means) if means else None, most


def _staleness(results):
    series = []
    for masters in MASTERS:
        dots, mosts = [], []
        for workers in WORKERS:
            spread, most = staleness_of(results, masters, workers)
            if spread is not None:
                is_many = results.is_oversubscribed(masters + workers)
                dots.append(Dot.of(workers, spread, is_oversubscribed=is_many))
                mosts.append(Dot(workers, most, most, most, is_many))
        series.append(Series(f"{masters} masters, mean", tuple(dots)))
        series.append(Series(f"{masters} masters, most", tuple(mosts)))
    expected = {workers: float(workers - 1) for workers in WORKERS}
    series.append(Series("workers - 1", _exact(expected), True, has_marks=False))
    return Chart(
        "async_staleness", "Asynchronous training: how old gradients are", "workers",
        "steps that others took meanwhile", tuple(series),
        "Between the parameters that a gradient was computed with and the step that uses it, "
        "counted exactly: each step leaves a count in a bias that takes part in nothing else.",
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
    alone = results.spread(serial(), "time_s")
    for label, name, ranks in names:
        time = results.spread(name, "time_s")
        accuracy = results.spread(name, "accuracy")
        ratio = alone.median / time.median if alone is not None and time is not None else None
        rows.append(
            (
                label,
                ranks,
                "yes" if results.is_oversubscribed(ranks) else "no",
                time.text("{:.3g}") if time else results.why_missing(name).partition(";")[0][:40],
                round(ratio, 2) if ratio else None,
                f"{accuracy.median:.1%}" if accuracy else None,
            )
        )
    columns = ("training", "ranks", "more than cores", "time (s)", "speed-up", "accuracy")
    return Table(
        "trainings", "All trainings against the serial program", columns, tuple(rows),
        f"{_work(results)}; asynchronous workers take whole batches each.",
    )  # fmt: skip
