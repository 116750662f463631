"""Goes through the points of a study: measures what is not there yet, within the time there is."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.study.measure import measure
from grader.study.plan import Extent, Point, in_order
from grader.study.results import Machine, Measurement, Results
from grader.study.store import Store, key_of
from grader.study.workplace import Sources

_LEAST_LIMIT_S = 5.0
"""With less time than this left, no point is begun."""
_TIME_UP = "the time of this study was up; the same command again goes on from here"

Measure = Callable[[Point, int, float], Measurement]


@dataclass(frozen=True)
class Job:
    """A study to be made."""

    points: Sequence[Point]
    extent: Extent
    sources: Sources
    machine: Machine
    data: str
    """The folder of MNIST or CIFAR-10, or nothing."""
    data_identity: str = ""
    """What identifies its files."""


def run(
    job: Job,
    store: Store,
    tell: Callable[[str], None],
    measure_point: Measure | None = None,
    now_s: Callable[[], float] = time.monotonic,
) -> Results:
    """Measure the points of a study that are not in the store; return all runs.

    tell: is given a line before each run. measure_point: by default runs the point's program.
    """
    measured = measure_point or _measuring(job)
    runs: dict[str, list[Measurement]] = {}
    left_out: dict[str, str] = {}
    late: set[str] = set()
    """Series of which a point was out of time."""
    failed: set[str] = set()
    until_s = None if job.extent.budget_s is None else now_s() + job.extent.budget_s
    order = list(in_order(job.points))
    for index, (point, repeat) in enumerate(order):
        key = key_of(point, repeat, job.sources, job.data_identity, job.machine)
        # A run that did not end in time counts for that time alone.
        late_key = f"{key} {point.limit_s:g} s"
        found = store.get(key) or store.get(late_key)
        if found is None:
            left_s = float("inf") if until_s is None else until_s - now_s()
            if point.name in failed:  # a second time would tell the same
                continue
            if point.series in late:
                left_out.setdefault(
                    point.name, f"left out: a run of {point.series} before it did not end"
                )
                continue
            if left_s < _LEAST_LIMIT_S:
                left_out.setdefault(point.name, _TIME_UP)
                continue
            tell(_progress(order, index, left_s))
            found = measured(point, repeat, min(point.limit_s, left_s))
            if found.ran_out_of_time and left_s < point.limit_s:
                left_out.setdefault(point.name, _TIME_UP)  # it might have ended, given its time
                continue
            # Another failure may be that of a busy machine: the next study tries again.
            if found.ran_out_of_time:
                store.add(late_key, found)
            elif not found.failure:
                store.add(key, found)
        if found.ran_out_of_time:
            late.add(point.series)
        if found.failure:
            failed.add(point.name)
        runs.setdefault(point.name, []).append(found)
    return Results(runs, job.machine, left_out)


def _measuring(job: Job) -> Measure:
    return lambda point, repeat, limit_s: measure(
        point, repeat, job.sources, data=job.data, limit_s=limit_s
    )


def _progress(order: Sequence[tuple[Point, int]], index: int, left_s: float) -> str:
    """Return `12 of 57: sync with ring, 4 ranks (run 1 of 3), about 40 s left`."""
    point, repeat = order[index]
    expected_s = sum(each.expected_s for each, _ in order[index:])
    most_s = min(expected_s, left_s)
    run = f" (run {repeat + 1} of {point.num_repeats})" if point.num_repeats > 1 else ""
    return f"{index + 1} of {len(order)}: {point.name}{run}, about {most_s:.0f} s left"
