"""Charts of the laws of Amdahl and Gustafson."""

from grader.study import Chart, Series, amdahl_fraction, counted, gustafson_fraction
from grader.study.model import amdahl_speed_up, gustafson_speed_up

from . import modelled
from .plan import BATCH_SIZE, RANKS, WAYS, scaled, serial, sync
from .series import measured, modelled_times_s, spreads_of, sync_speed_ups

LEAST_POINTS = 3
"""Measured without sharing cores, for a law to be fitted to them."""
ONE_RANK = "A run on one rank also calls MPI, so its speed-up need not be 1."


def law(results, way="ring"):
    """Return (the times a law is fitted to, by ranks; whether they are modelled ones)."""
    times_s = {
        ranks: spread.median
        for ranks, spread in spreads_of(results, {n: sync(way, n) for n in RANKS}, "time_s").items()
        if spread is not None and not results.is_oversubscribed(ranks)
    }
    if len(times_s) >= LEAST_POINTS:
        return times_s, False
    return modelled_times_s(results, way, modelled.CLUSTER), True


def amdahl(results):
    """Return the chart of one size of work on more ranks."""
    series, laws, said = [], [], []
    for way, label in WAYS.items():
        times_s, is_modelled = law(results, way)
        alone = results.spread(serial(), "time_s")
        series.append(measured(results, f"{label}, measured", sync_speed_ups(results, way)))
        if alone is None or max(times_s, default=1) == 1:
            continue
        # One rank of the parallel program is not the serial one: it calls MPI all the same.
        fraction = amdahl_fraction(list(times_s), list(times_s.values()), alone.median)
        drawn = series[-1]
        if is_modelled:
            ratios = {ranks: alone.median / each for ranks, each in times_s.items()}
            drawn = Series.modelled(f"{label}, modelled on a cluster", ratios)
            laws.append(drawn)
        best = max((dot for dot in drawn.dots if dot.x in times_s), key=lambda dot: dot.y)
        curve = {ranks: amdahl_speed_up(ranks, fraction) for ranks in RANKS}
        name = f"Amdahl, {label}: {fraction:.1%} serial"
        laws.append(Series.modelled(name, curve, has_marks=False))
        kind = "modelled" if is_modelled else "measured"
        # The law has no larger share than 100%, even where some number of ranks gains a little.
        most = f"allows a speed-up of at most {1 / fraction:.2f}" if fraction else "sets no limit"
        ranks = counted(best.x, "rank")
        said.append(
            f"{label}: the highest speed-up by {kind} time is {best.y:.2f}, on {ranks}. The "
            f"fitted law has a serial share of {fraction:.1%} and {most}."
        )
    return Chart(
        "amdahl", "Amdahl's law: the same work on more ranks", "ranks", "speed-up",
        (*series, *laws),
        " ".join(said) + (
            " Speed-ups are relative to the serial program, with the same steps and batches. "
            f"{ONE_RANK} "
            "The law ignores messages, whose share grows with the number of ranks. It is fitted to "
            f"modelled time if fewer than {LEAST_POINTS} measured points have a core for each "
            f"rank. Model: {modelled.CLUSTER.describe()}."
        ),
        is_log_x=True, x_ticks=RANKS,
    )  # fmt: skip


def scaled_spreads(results):
    """Return measured scaled speed-ups by ranks, {ranks: Spread}: the work grows with the ranks."""
    found = {n: results.speed_up(scaled(n), serial(), "step_s") for n in RANKS[1:-1]}
    return {n: None if each is None else each.times(n) for n, each in found.items()}


def scaled_speed_ups(results):
    """Return (the scaled speed-ups a law is fitted to, by ranks; whether they are modelled)."""
    alone_s = modelled.step_s(results)
    if alone_s is None:
        return {}, True
    ratios = {1: 1.0}
    for ranks, spread in scaled_spreads(results).items():
        if spread is not None and not results.is_oversubscribed(ranks):
            ratios[ranks] = spread.median
    if len(ratios) >= LEAST_POINTS:
        return ratios, False
    model = {
        n: modelled.sync_step_s(results, "ring", n, BATCH_SIZE, modelled.CLUSTER) for n in RANKS
    }
    return {n: n * alone_s / each for n, each in model.items() if each is not None}, True


def gustafson(results):
    """Return the chart of work that grows with the ranks."""
    series = [measured(results, "own ring, measured", scaled_spreads(results))]
    ratios, is_modelled = scaled_speed_ups(results)
    said = ""
    if len(ratios) > 1:
        fraction = gustafson_fraction(list(ratios), list(ratios.values()))
        if is_modelled:
            series.append(Series.modelled("own ring, modelled on a cluster", ratios))
        curve = {ranks: gustafson_speed_up(ranks, fraction) for ranks in RANKS}
        name = f"Gustafson, serial share {fraction:.1%}"
        series.append(Series.modelled(name, curve, has_marks=False))
        kind = "modelled" if is_modelled else "measured"
        said = f"The law fitted to {kind} time has a serial share of {fraction:.1%}."
    return Chart(
        "gustafson", "Gustafson's law: work that grows with the number of ranks", "ranks",
        "scaled speed-up", tuple(series),
        f"Each rank has {BATCH_SIZE} examples per step, so n ranks do n times the work. {said} "
        f"Model: {modelled.CLUSTER.describe()}.",
        is_log_x=True, x_ticks=RANKS,
    )  # fmt: skip
