"""Charts and the table of parallel SGD and Hogwild."""

from typing import Any

from grader.study import Chart, Dot, Network, Series, Spread, Table

from .plan import BATCH_SIZE, LEARNING_RATE, PROCESSES, SERIAL, WAYS, named

NETWORK = Network()
NUM_BYTES = 4 * (16 * 26 + 32 * (16 * 25 + 1) + 64 * 129 + 10 * 65)
"""Of the network's parameters."""


def figures(results):
    """Return all charts and the table."""
    epochs = max((run["epochs"] for name in results.runs for run, *_ in results.reports(name)),
                 default=0)  # fmt: skip
    about = f"{epochs} epochs, batches of {BATCH_SIZE}, learning rate {LEARNING_RATE:g}."
    times: list[Series] = []
    speed_ups: list[Series] = []
    accuracies: list[Series] = []
    for way, label in WAYS.items():
        alone = results.spread(named(way, 1), "time_s")
        for chart, key in ((times, "time_s"), (accuracies, "accuracy")):
            spreads = {n: results.spread(named(way, n), key) for n in PROCESSES}
            chart.append(Series(label, _dots(results, spreads)))
        ratios = {
            n: Spread.of(
                alone.median / time_s for time_s in results.numbers(named(way, n), "time_s")
            )
            for n in PROCESSES
            if alone is not None and results.numbers(named(way, n), "time_s")
        }
        if alone is not None:  # against itself, whatever single runs took
            ratios[1] = Spread(1.0, 1.0, 1.0, alone.num_runs)
        speed_ups.append(Series(label, _dots(results, ratios)))
    model = modelled_s(results)
    if model:
        times.append(Series("Parallel SGD, modelled", _exact(model), True))
        ratios = {n: model[1] / time_s for n, time_s in model.items()}
        speed_ups.append(Series("Parallel SGD, modelled", _exact(ratios), True))
    ideal = {n: float(n) for n in PROCESSES}
    speed_ups.append(Series("as many times as processes", _exact(ideal), True, has_marks=False))
    serial = results.spread(SERIAL, "accuracy")
    if serial is not None:
        dots = tuple(Dot.of(n, serial) for n in (PROCESSES[0], PROCESSES[-1]))
        accuracies.append(Series(SERIAL, dots, has_marks=False))
    network = (
        " Modelled: the time of one rank divided by the ranks, and two collectives of all "
        f"parameters; {NETWORK.describe()}. Hogwild sends nothing to model."
    ) * bool(model)
    common: dict[str, Any] = {"x_label": "processes", "x_ticks": PROCESSES}
    return [
        Chart(
            "run_time", "Parallel SGD and Hogwild: training time", y_label="time (s)",
            series=tuple(times), caption=f"{about}{network}", **common,
        ),
        Chart(
            "speed_up", "Parallel SGD and Hogwild: speed-up", y_label="speed-up",
            series=tuple(speed_ups), caption=f"Against the same method on one. {about}{network}",
            **common,
        ),
        Chart(
            "accuracy", "Parallel SGD and Hogwild: accuracy", y_label="accuracy",
            series=tuple(accuracies), caption=f"On the test images. {about}", is_share=True,
            **common,
        ),
        _table(results),
    ]  # fmt: skip


def modelled_s(results):
    """Return the modelled time of parallel SGD by ranks; empty without that of one rank."""
    alone = results.spread(named("psgd", 1), "time_s")
    if alone is None:
        return {}
    return {
        n: alone.median / n + (2 * NETWORK.collective_s(n, NUM_BYTES) if n > 1 else 0)
        for n in PROCESSES
    }


def _dots(results, spreads):
    return tuple(
        Dot.of(n, spread, is_oversubscribed=results.is_oversubscribed(n))
        for n, spread in spreads.items()
        if spread is not None
    )


def _exact(by_x):
    return tuple(Dot.exact(x, y) for x, y in by_x.items())


def _table(results):
    rows = []
    for name, alone in [(SERIAL, SERIAL)] + [
        (named(way, n), named(way, 1)) for way in WAYS for n in PROCESSES
    ]:
        time, first = results.spread(name, "time_s"), results.spread(alone, "time_s")
        accuracy = results.spread(name, "accuracy")
        rows.append(
            (
                name,
                time.text() if time else results.why_in_short(name),
                round(first.median / time.median, 2) if first and time else None,
                accuracy.text("{:.1%}") if accuracy else None,
            )
        )
    return Table(
        "all_runs", "Parallel SGD and Hogwild: time, speed-up and accuracy",
        ("training", "time (s)", "speed-up", "accuracy"), tuple(rows),
        "Speed-up against the same method on one process.",
    )  # fmt: skip
