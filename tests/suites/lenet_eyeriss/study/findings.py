"""What the figures of lenet_eyeriss show, in sentences with numbers."""

from math import isfinite

from grader.study import compared

from .figures import curve
from .plan import FAST_RATE, LEARNING_RATE, METHODS, PROCESSES, SHOWN, named


def findings(results):
    """Return sentences; where something was not measured, none about it."""
    return [*_agreement(results), *_equal_models(results), *_learning(results), *_times(results)]


def _agreement(results):
    """Compare losses of runs with the same seed: a run that failed has none beside it."""
    for rate in (LEARNING_RATE, FAST_RATE):
        both = [results.by_repeat(named(method, SHOWN, rate)) for method in METHODS]
        repeats = set.intersection(*map(set, both))
        if not repeats:
            continue
        first, second = (runs[min(repeats)][0] for runs in both)
        lost = _lost(first, METHODS["allreduce"]) or _lost(second, METHODS["ring_allreduce"])
        if lost:
            yield f"{lost}, at learning rate {rate:g}."
            continue
        pairs = zip(first["loss"], second["loss"], strict=True)
        most = max(abs(one - other) for one, other in pairs)
        verb = "agree" if most < 1e-3 else "do NOT agree"
        yield (
            f"All-reduce and ring {verb} at learning rate {rate:g}: their losses differ by at "
            f"most {most:.1e} in any epoch of one run."
        )


def _lost(curves, label):
    """Say from when on a loss is no number; nothing where it always is one."""
    for epoch, loss in zip(curves["epoch"], curves["loss"], strict=True):
        if not isfinite(loss):
            return (
                f"The loss of the {label} on {SHOWN} processes is infinite or NaN from epoch "
                f"{epoch} on"
            )
    return ""


def _equal_models(results):
    for method in METHODS:
        for run in results.reports(named(method, SHOWN)):
            last = [rank["validation"] for rank in run]
            if max(last) != min(last):
                yield f"Wrong: the processes of the {METHODS[method]} ended with different models."
                break


def _learning(results):
    for rate in (LEARNING_RATE, FAST_RATE):
        for method in METHODS:
            accuracies = curve(results, method, rate, "accuracy")
            if accuracies:
                yield (
                    f"After {max(accuracies)} epochs at learning rate {rate:g}, training accuracy "
                    f"is {accuracies[max(accuracies)].text('{:.1%}')}."
                )
                break


def _times(results):
    for n in PROCESSES[1:]:
        spreads = [results.spread(named(method, n), "run_time_s") for method in METHODS]
        told = compared(
            f"the all-reduce on {n} processes", spreads[0], "the ring", spreads[1], unit="s"
        )
        if told:
            yield told
