"""What the figures of psgd_hogwild show, in sentences with numbers."""

from grader.study import FEWEST_RUNS, compared

from .plan import ALL, PROCESSES, SERIAL, WAYS, named

_ROUNDING = 1e-5
"""By so much of themselves sums of parameters may differ in float32."""


def findings(results):
    """Return sentences; where something was not measured, none about it."""
    return [
        *_network(results),
        *_equal_models(results),
        *_speed_ups(results),
        *_accuracies(results.with_common_runs(ALL)),
    ]


def _network(results):
    names = [SERIAL, *(named(way, n) for way in WAYS for n in PROCESSES)]
    reports = [run[0] for name in names for run in results.reports(name)]
    if any(report["network"] == "plain" for report in reports):
        yield "network.py was not handed in, so a plain network of two linear layers was measured."


def _equal_models(results):
    """Say on how many ranks parallel SGD left them with different models."""
    for n in PROCESSES[1:]:
        for ranks in results.reports(named("psgd", n)):
            sums = [rank["parameters"] for rank in ranks]
            if max(sums) - min(sums) > _ROUNDING * max(sums):
                yield (
                    f"Wrong: the {n} ranks of parallel SGD ended with different models; each "
                    "must return the mean."
                )
                break


def _speed_ups(results):
    for way, label in WAYS.items():
        alone, two = (results.spread(named(way, n), "time_s") for n in (1, 2))
        told = compared(f"{label} on 2 processes", two, f"{label} on 1", alone, unit="s")
        if told:
            yield told


def _accuracies(results):
    for way, label in WAYS.items():
        few, many = (results.spread(named(way, n), "accuracy") for n in (1, PROCESSES[-1]))
        if few is None or many is None:
            continue
        figures = f"{few.text('{:.1%}')} on 1 process, {many.text('{:.1%}')} on {PROCESSES[-1]}"
        if min(few.num_runs, many.num_runs) < FEWEST_RUNS:
            yield f"Accuracy of {label}: {figures}. A claim needs {FEWEST_RUNS} runs of each."
        elif many.high < few.low:
            yield (
                f"{label} loses accuracy with more processes and the same number of epochs: "
                f"{figures}."
            )
        else:
            yield f"{label} loses no accuracy beyond the spread: {figures}."
    one, other = (results.spread(named(way, PROCESSES[-1]), "accuracy") for way in WAYS)
    is_enough = one and other and min(one.num_runs, other.num_runs) >= FEWEST_RUNS
    if is_enough and one.high < other.low:
        yield (
            f"On {PROCESSES[-1]} processes, Hogwild is more accurate than parallel SGD: "
            f"{other.text('{:.1%}')} against {one.text('{:.1%}')}."
        )
