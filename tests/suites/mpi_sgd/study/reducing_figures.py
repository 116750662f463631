"""Charts of the all-reduces by length, and where the ring begins to be faster."""

import math

from grader.study import Chart, Dot, Series, Table

from . import modelled
from .plan import REDUCING_RANKS, REDUCTIONS, reducing

_NUM_BYTES = 8
"""Of a number."""


def reducing_figures(results):
    """Return a chart for each number of ranks, and the table of crossings."""
    return [*(_by_length(results, ranks) for ranks in REDUCING_RANKS), _crossings(results)]


def medians_s(results, way, ranks):
    """Return the median time by length; empty where it was not measured."""
    for report, *_ in results.reports(reducing(way, ranks)):
        return dict(zip(report["lengths"], report["median_s"], strict=True))
    return {}


def crossing(results, ranks):
    """Return the length from which on the ring was faster to the end, as (last slower, first).

    None where a time is missing; (last, None) where it never was.
    """
    naive, ring = (medians_s(results, way, ranks) for way in ("naive", "ring"))
    if not naive or naive.keys() != ring.keys():
        return None
    lengths = sorted(naive)
    slower = [length for length in lengths if ring[length] >= naive[length]]
    if not slower:
        return (None, lengths[0])
    later = [length for length in lengths if length > slower[-1]]
    return (slower[-1], later[0] if later else None)


def _by_length(results, ranks):
    series = []
    for way, label in REDUCTIONS.items():
        dots = []
        for report, *_ in results.reports(reducing(way, ranks)):
            columns = (report[key] for key in ("median_s", "quarter_s", "three_quarters_s"))
            is_many = results.is_oversubscribed(ranks)
            for length, median, low, high in zip(report["lengths"], *columns, strict=True):
                dots.append(Dot(length, median * 1e6, low * 1e6, high * 1e6, is_many))
        series.append(Series(label, tuple(dots)))
    reports = [each for way in REDUCTIONS for each in results.reports(reducing(way, ranks))]
    lengths = reports[0][0]["lengths"] if reports else []
    for label, cost in (
        ("naive, modelled", modelled.NETWORK.naive_s),
        ("ring, modelled", modelled.NETWORK.ring_s),
    ):
        model = {n: cost(ranks, n * _NUM_BYTES) * 1e6 for n in lengths}
        series.append(Series.modelled(label, model, has_marks=False))
    return Chart(
        f"allreduce_{ranks}_ranks", f"All-reduce on {ranks} ranks by length",
        "numbers of 8 bytes", "time (microseconds)", tuple(series),
        "Median of up to 15 calls in one run, on the slowest rank; thin lines go from the first "
        "to the third quartile. Each result was checked. Modelled network: "
        f"{modelled.NETWORK.describe()}.",
        is_log_x=True, is_log_y=True,
    )  # fmt: skip


def _crossings(results):
    rows = []
    for ranks in REDUCING_RANKS:
        model = modelled.NETWORK.crossing_num_bytes(ranks)
        found = crossing(results, ranks)
        why = results.why_in_short(reducing("naive", ranks))
        why = why or results.why_in_short(reducing("ring", ranks))
        rows.append(
            (
                ranks,
                _crossing_text(found) if found else why,
                "never" if model is None else f"{model / _NUM_BYTES:.0f}",
            )
        )
    return Table(
        "allreduce_crossings", "Length from which the ring is faster than the naive all-reduce",
        ("ranks", "measured (numbers of 8 bytes)", "modelled (numbers of 8 bytes)"), tuple(rows),
        "Modelled: a b n / (n - 2) bytes for n ranks, latency a, and bandwidth b. With two ranks, "
        "both algorithms send the same number of bytes, but the ring sends twice as many messages. "
        f"Network: {modelled.NETWORK.describe()}.",
    )  # fmt: skip


def _crossing_text(found):
    before, first = found
    if first is None:
        return f"none up to {before}"
    if before is None:
        return f"{first}, the shortest measured"
    return f"between {before} and {first}, about {math.sqrt(before * first):.0f}"
