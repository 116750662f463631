"""Goes through the points of a study: measures what is not there yet, within the time there is."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from grader.course.support.images import found_in
from grader.study.measure import measure
from grader.study.plan import Extent, Point, in_order
from grader.study.results import Machine, Measurement, Results
from grader.study.store import Store, key_of
from grader.study.workplace import Sources

_LEAST_LIMIT_S = 5.0
"""With less time than this left, no point is begun."""
_TIME_UP = "this study reached its time limit; run the same command again to continue"

Measure = Callable[[Point, int, float, float], Measurement]


@dataclass(frozen=True)
class Job:
    """A study to be made."""

    points: Sequence[Point]
    extent: Extent
    sources: Sources
    machine: Machine
    data: str
    """The folder of MNIST or CIFAR-10, or nothing."""
    busy_share: float = 0.0
    """Of the cores' time, what other programs take as it begins."""

    def images(self) -> str:
        """Return which images the folder holds. Their files are as published."""
        return " and ".join(found_in(self.data) if self.data else ()) or "bundled digits"


@dataclass(frozen=True)
class _Run:
    """One repetition of a point, and what the store has of it."""

    point: Point
    repeat: int
    key: str
    store: Store

    @property
    def late_key(self) -> str:
        """Return the key where it did not end in time: it counts for that time alone."""
        return f"{self.key} {self.point.limit_s:g} s"

    def stored(self) -> Measurement | None:
        return self.store.get(self.key) or self.store.get(self.late_key)

    def is_final(self) -> bool:
        return self.store.is_final(self.key) or self.store.is_final(self.late_key)

    def keep(self, found: Measurement) -> None:
        self.store.add(self.late_key if found.ran_out_of_time else self.key, found)


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
    images = job.images()
    runs: dict[str, list[Measurement]] = {}
    left_out: dict[str, str] = {}
    late: set[str] = set()
    """Series of which a point was out of time."""
    failed: set[str] = set()
    until_s = None if job.extent.budget_s is None else now_s() + job.extent.budget_s
    order = _again_last(
        [
            _Run(point, repeat, key_of(point, repeat, job.sources, images, job.machine), store)
            for point, repeat in in_order(job.points)
        ]
    )
    for index, each in enumerate(order):
        point, found = each.point, each.stored()
        if found is None or not each.is_final():
            left_s = float("inf") if until_s is None else until_s - now_s()
            if point.name in failed:  # a second time would tell the same
                continue
            why = _TIME_UP if left_s < _LEAST_LIMIT_S else ""
            if point.series in late:
                why = f"left out: a run of {point.series} before it did not finish"
            if not why:
                tell(_progress(order, index, left_s))
                found = measured(point, each.repeat, min(point.limit_s, left_s), left_s)
                if found.ran_out_of_time and left_s < point.limit_s:
                    why, found = _TIME_UP, None  # it might have ended, given its time
                else:
                    found = replace(found, busy_share=job.busy_share)
                    each.keep(found)
            if found is None:
                left_out.setdefault(point.name, why)
                continue
        if found.ran_out_of_time:
            late.add(point.series)
        if found.failure:
            failed.add(point.name)
        runs.setdefault(point.name, []).append(found)
    in_turn = {name: sorted(found, key=lambda run: run.repeat) for name, found in runs.items()}
    return Results(in_turn, job.machine, left_out, images)


def _again_last(runs: Sequence[_Run]) -> list[_Run]:
    """Return the runs as they are made: what failed and is tried again comes after all others.

    So does what would not be measured after such a failure.
    """
    first, last = [], []
    points: set[str] = set()
    late: set[str] = set()
    for each in runs:
        found = each.stored()
        if found is not None and not each.is_final():
            points.add(each.point.name)
            late |= {each.point.series} if found.ran_out_of_time else set()
            last.append(each)
        elif found is None and (each.point.name in points or each.point.series in late):
            last.append(each)
        else:
            first.append(each)
    return [*first, *last]


def _measuring(job: Job) -> Measure:
    return lambda point, repeat, limit_s, most_s: measure(
        point, repeat, job.sources, data=job.data, limit_s=limit_s, most_s=most_s
    )


def _progress(order: Sequence[_Run], index: int, left_s: float) -> str:
    """Return `12 of 57: sync with ring, 4 ranks (run 1 of 3), about 40 s left`."""
    point, repeat = order[index].point, order[index].repeat
    expected_s = sum(each.point.expected_s for each in order[index:])
    most_s = min(expected_s, left_s)
    run = f" (run {repeat + 1} of {point.num_repeats})" if point.num_repeats > 1 else ""
    return f"{index + 1} of {len(order)}: {point.name}{run}, about {most_s:.0f} s left"
