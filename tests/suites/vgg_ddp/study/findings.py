"""What the figures of vgg_ddp show, in sentences with numbers."""

from math import isfinite
from statistics import median

from grader.study import compared

from .measures import (
    NUM_LAST,
    each_iteration_s,
    iteration_ms,
    last_loss,
    losses,
    modelled_s,
    nodes_of,
    of_same_seeds,
)
from .plan import LABELS, WAYS, named

_FOUR = 4
_TOLERANCE = 0.02
"""Of a loss in the first steps, where rounding has not yet grown."""
_LONG = 4
"""So many times the median is an iteration that is told of."""
_ALIKE = 1.6
"""So many times the last losses of one node those of four may be: they draw other batches."""


def findings(results):
    """Return sentences; where something was not measured, none about it."""
    return [
        *_disagreement(results),
        *_fastest(results),
        *_modelled_order(results),
        *_long_iterations(results),
        *_trend(results),
        *_lost_by_nodes(results),
        *_accuracies(results),
    ]


def _disagreement(results):
    """Say whose first losses are not those of the others: on 4 nodes all have the same."""
    ways = [way for way in WAYS if way != "single"]
    firsts = {way: losses(results, named(way, _FOUR))[:4] for way in ways}
    found = {way: each for way, each in firsts.items() if each}
    if len(found) < 3:
        return
    for way, series in found.items():
        common = [median(values) for values in zip(*found.values(), strict=False)]
        if max(abs(one - other) for one, other in zip(series, common, strict=False)) > _TOLERANCE:
            yield (
                f"Wrong: the first losses of {LABELS[way]} on 4 nodes differ from those of the "
                "other programs, which take the same steps."
            )


def _fastest(results):
    ddp = iteration_ms(results, named("ddp", _FOUR))
    for way in ("allreduce", "gather_scatter", "isend_irecv"):
        other = iteration_ms(results, named(way, _FOUR))
        told = compared(f"{LABELS['ddp']} on 4 nodes", ddp, LABELS[way], other, unit="ms")
        if told:
            yield told


def _modelled_order(results):
    model = {way: modelled_s(results, way, nodes_of(way)) for way in WAYS}
    if None not in model.values():
        order = sorted(model, key=lambda way: model[way])
        told = ", ".join(f"{LABELS[way]} {model[way] * 1e3:.1f} ms" for way in order)
        yield (
            "Modelled times per iteration, fastest first, on 4 machines (1 machine for the "
            f"program on one node): {told}."
        )


def _long_iterations(results):
    """Say which iteration of a window is so long that a mean tells of little else."""
    for way in WAYS:
        times_s = each_iteration_s(results, named(way, nodes_of(way)))[1:]
        longest_s, usual_s = max(times_s, default=0.0), median(times_s or [0.0])
        if longest_s > _LONG * usual_s:
            yield (
                f"Iteration {times_s.index(longest_s) + 1} of {LABELS[way]} took "
                f"{longest_s * 1000.0:.0f} ms; the median is {usual_s * 1000.0:.0f} ms. A "
                "mean that includes this iteration says little about the others."
            )


def _trend(results):
    for way in WAYS:
        series = losses(results, named(way, 1 if way == "single" else _FOUR))
        if not all(map(isfinite, series)):
            first = next(i for i, loss in enumerate(series) if not isfinite(loss))
            yield f"The loss of {LABELS[way]} is infinite or NaN from iteration {first} on."
        elif len(series) >= 6:
            first, last = sum(series[:NUM_LAST]) / NUM_LAST, last_loss(series)
            verb = "falls" if last < first else "does NOT fall"
            yield (
                f"In one run, the loss of {LABELS[way]} {verb}: the first {NUM_LAST} losses "
                f"average {first:.2f}, and the last {NUM_LAST} average {last:.2f}."
            )


def _lost_by_nodes(results):
    """Say which program learns less on 4 nodes than on one: both see as many examples a step."""
    for way in WAYS:
        one, four = (losses(results, named(way, nodes)) for nodes in (1, _FOUR))
        if way == "single" or not one or len(one) != len(four):
            continue
        alone, last = last_loss(one), last_loss(four)
        if isfinite(alone) and last > _ALIKE * alone:
            yield (
                f"Wrong: {LABELS[way]} learns less on 4 nodes than on one with the same "
                f"number of examples in all. Its last {NUM_LAST} losses average {last:.2f}, "
                f"against {alone:.2f} on one node."
            )


def _accuracies(results):
    same_runs = of_same_seeds(results)
    found = {
        LABELS[way]: spread
        for way in WAYS
        if (spread := same_runs.spread(named(way, nodes_of(way)), "test_accuracy"))
    }
    if len(found) > 1:
        told = ", ".join(f"{label} {spread.text('{:.1%}')}" for label, spread in found.items())
        yield f"Accuracy on the test images: {told}."
