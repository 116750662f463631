"""Charts and the table of parallel SGD and Hogwild."""

from typing import Any

from grader.study import OF_COMMON_RUNS, Chart, Dot, Network, Series, Table

from .plan import ALL, BATCH_SIZE, LEARNING_RATE, PROCESSES, SERIAL, WAYS, named

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
    same_runs = results.with_common_runs(ALL)
    for way, label in WAYS.items():
        times_s = {n: results.spread(named(way, n), "time_s") for n in PROCESSES}
        shares = {n: same_runs.spread(named(way, n), "accuracy") for n in PROCESSES}
        ratios = {n: results.speed_up(named(way, n), named(way, 1)) for n in PROCESSES}
        for chart, spreads in (
            (times, times_s),
            (accuracies, shares),
            (speed_ups, ratios),
        ):
            chart.append(Series.measured(label, spreads, results.is_oversubscribed))
    model = modelled_s(results)
    if model:
        times.append(Series.modelled("Parallel SGD, modelled", model))
        faster = {n: model[1] / time_s for n, time_s in model.items()}
        speed_ups.append(Series.modelled("Parallel SGD, modelled", faster))
    ideal = {n: float(n) for n in PROCESSES}
    speed_ups.append(Series.modelled("ideal", ideal, has_marks=False))
    serial = same_runs.spread(SERIAL, "accuracy")
    if serial is not None:
        dots = tuple(Dot.of(n, serial) for n in (PROCESSES[0], PROCESSES[-1]))
        accuracies.append(Series(SERIAL, dots, has_marks=False))
    network = (
        " Modelled: one rank's time divided by the number of ranks, plus the time of two "
        f"collectives over all parameters. Network: {NETWORK.describe()}. Hogwild sends no "
        "messages."
    ) * bool(model)
    common: dict[str, Any] = {"x_label": "processes", "x_ticks": PROCESSES}
    return [
        Chart(
            "run_time", "Parallel SGD and Hogwild: training time", y_label="time (s)",
            series=tuple(times), caption=f"{about}{network}", **common,
        ),
        Chart(
            "speed_up", "Parallel SGD and Hogwild: speed-up", y_label="speed-up",
            series=tuple(speed_ups),
            caption=f"Compared with the same method on one process. {about}{network}", **common,
        ),
        Chart(
            "accuracy", "Parallel SGD and Hogwild: accuracy", y_label="accuracy",
            caption=f"Test accuracy. {about} {OF_COMMON_RUNS}",
            series=tuple(accuracies), is_share=True,
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


def _table(results):
    rows = []
    same_runs = results.with_common_runs(ALL)
    for name, faster in [(SERIAL, None)] + [
        (named(way, n), results.speed_up(named(way, n), named(way, 1)))
        for way in WAYS
        for n in PROCESSES
    ]:
        time, accuracy = results.spread(name, "time_s"), same_runs.spread(name, "accuracy")
        rows.append(
            (
                name,
                time.text() if time else results.why_in_short(name),
                round(faster.median, 2) if faster else None,
                accuracy.text("{:.1%}") if accuracy else None,
            )
        )
    return Table(
        "all_runs", "Parallel SGD and Hogwild: time, speed-up, and accuracy",
        ("training", "time (s)", "speed-up", "accuracy"), tuple(rows),
        "Speed-up over the same method on one process.",
    )  # fmt: skip
