"""What the figures of mpi_sgd show, in sentences with numbers."""

import math

from grader.study import FEWEST_RUNS

from .plan import (
    MASTERS,
    REDUCING_RANKS,
    WORKERS,
    asynchronous,
    gentle,
    gentle_serial,
    reducing,
    serial,
    sync,
)
from .reducing_figures import crossing
from .series import staleness_of

_ALIKE = 0.08
"""By so much accuracy differs from seed to seed."""
_LOSES = " loses more than half of its accuracy"
_FEW = f" A claim needs {FEWEST_RUNS} runs of each."


def findings(results):
    """Return sentences; where something was not measured, none about it."""
    return [
        *_equal_ranks(results),
        *_equal_accuracy(results),
        *_divergence(results),
        *_reductions(results),
    ]


def _equal_ranks(results):
    """Say which synchronous trainings left their ranks with different networks."""
    for way in ("collective", "ring"):
        for ranks in (2, 4, 8, 16):
            for reports in results.reports(sync(way, ranks)):
                sums = [report["parameters"] for report in reports]
                if not all(map(math.isfinite, sums)):
                    yield f"{sync(way, ranks)}: weights became infinite or NaN."
                    break
                if max(sums) - min(sums) > 1e-6 * abs(max(sums)):
                    yield (
                        f"Wrong: {sync(way, ranks)}: the ranks ended with different networks; "
                        "after synchronous training, all must be equal."
                    )
                    break


def _are_few(*spreads):
    """Return whether one of them is of too few runs for a claim."""
    return any(each is not None and each.num_runs < FEWEST_RUNS for each in spreads)


def _equal_accuracy(results):
    alone = results.spread(serial(), "accuracy")
    for way in ("collective", "ring"):
        found = {n: results.spread(sync(way, n), "accuracy") for n in (2, 4, 8, 16)}
        medians = [each.median for each in found.values() if each is not None]
        if alone is None or not medians:
            continue
        ranks = [n for n, each in found.items() if each is not None]
        several = f"{ranks[0]} to {ranks[-1]} ranks"
        where = f"on {several if len(ranks) > 1 else f'{ranks[0]} ranks'}"
        figures = f"{min(medians):.1%} to {max(medians):.1%}, serial {alone.text('{:.1%}')}."
        if _are_few(alone, *found.values()):
            yield f"Accuracy of synchronous training ({way}) {where}: {figures}{_FEW}"
        elif min(medians) > alone.low - _ALIKE:
            as_accurate = f"is about as accurate {where} as serial training"
            yield f"Synchronous training ({way}) {as_accurate}: {figures}"
        else:
            less_accurate = f"is less accurate {where} than serial training"
            yield f"Synchronous training ({way}) {less_accurate}: {figures}"


def _divergence(results):
    alone = results.spread(serial(), "accuracy")
    for masters in MASTERS:
        lost = None
        for workers in reversed(WORKERS):  # all those beyond have lost as much
            spread = results.spread(asynchronous(masters, workers), "accuracy")
            if spread is None or alone is None:
                continue
            if spread.median >= alone.median / 2:
                break
            lost = (workers, spread)
        if lost is None:
            continue
        workers, spread = lost
        age, most = staleness_of(results, masters, workers)
        aged = (
            f". With {workers} workers, the mean age of a gradient is {age.median:.1f} steps "
            f"({most} at most)"
            if age
            else ""
        )
        few = _are_few(alone, spread)
        yield (
            f"With {masters} masters, asynchronous training{_LOSES * (not few)} from {workers} "
            f"workers up: {spread.text('{:.1%}')} against {alone.text('{:.1%}')} in serial "
            f"training{aged}.{_FEW * few}"
        )
    for workers in WORKERS[2:]:
        full = results.spread(asynchronous(2, workers), "accuracy")
        small = results.spread(gentle(2, workers), "accuracy")
        serial_small = results.spread(gentle_serial(workers), "accuracy")
        if None in (alone, full, small, serial_small):
            continue
        few = _are_few(alone, full, small, serial_small)
        yield (
            f"With {workers} workers, old gradients cost "
            f"{100 * (alone.median - full.median):.0f} percentage points of accuracy at the full "
            f"rate, and {100 * (serial_small.median - small.median):.0f} at the rate divided by "
            f"{workers}. The serial program reaches {serial_small.text('{:.1%}')} in the same "
            f"number of steps at that rate.{_FEW * few}"
        )


def _reductions(results):
    for ranks in REDUCING_RANKS:
        found = crossing(results, ranks)
        if found is not None:
            before, first = found
            told = f"from {first} numbers on" if first else f"at no length up to {before} numbers"
            turns = ", with ranks taking turns on the cores" * results.is_oversubscribed(ranks)
            yield (
                f"On {ranks} ranks, the ring's median time was below the naive all-reduce's "
                f"{told} (one run{turns})."
            )
        for way in ("ring", "naive"):
            own, library = (_longest(results, each, ranks) for each in (way, "library"))
            if own and library and own[0] == library[0]:
                yield _faster(
                    f"In one run on {ranks} ranks, for {own[0]} numbers,",
                    (f"the {way} all-reduce", own),
                    ("MPI_Allreduce", library),
                )


def _longest(results, way, ranks):
    """Return length and quartiles in ms of the longest array; nothing where it was not reduced."""
    for report, *_ in results.reports(reducing(way, ranks)):
        keys = ("quarter_s", "median_s", "three_quarters_s")
        return (report["lengths"][-1], *(report[key][-1] * 1e3 for key in keys))
    return None


def _faster(where, *both):
    """Say which of two took less time; nothing of which where their usual times overlap."""
    (fast, (_, _, first, high)), (slow, (_, low, second, _)) = sorted(
        both, key=lambda each: each[1][2]
    )
    figures = f"medians of {first:.3g} and {second:.3g} ms"
    if high >= low:
        return f"{where} {fast} and {slow} had {figures}; their interquartile ranges overlap."
    return f"{where} {fast} was faster than {slow}: {figures}."
