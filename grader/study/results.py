"""What a study has measured so far, and what may be said of it."""

import math
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

_MOST_CELL_CHARS = 48
QUIET = 0.2
"""Up to this share of busy cores, times are not much longer."""
FEWEST_RUNS = 3
"""Of each of two that are compared: from fewer follows no claim."""

OF_COMMON_RUNS = "Each run has its own seed; only seeds with a run in every series are shown."


@dataclass(frozen=True)
class Machine:
    """The machine on which a study was made."""

    num_cores: int
    """That its processes could use."""
    processor: str
    software: Mapping[str, str]
    """Versions by name."""
    name: str = ""
    """What it is called: of two that are alike, only one has made a measurement."""


@dataclass(frozen=True)
class Measurement:
    """One run of a point."""

    point: str
    repeat: int
    ranks: tuple[Mapping[str, Any], ...]
    """What each rank reported; empty where the run has failed."""
    failure: str = ""
    """Why there is nothing, in one sentence."""
    ran_out_of_time: bool = False
    is_certain: bool = False
    """Whether it would fail in the same way the next time: a file is missing, a result wrong."""
    busy_share: float = 0.0
    """Of the cores' time, what other programs took just before it."""


@dataclass(frozen=True)
class Spread:
    """The median of several runs, with their minimum and maximum."""

    median: float
    low: float
    high: float
    num_runs: int

    @classmethod
    def of(cls, numbers: Iterable[float]) -> "Spread":
        """Return the spread of some numbers. Raises ValueError where there are none.

        Where one of them is not finite, neither is the spread: it has no middle.
        """
        found = sorted(numbers)
        if not found:
            raise ValueError("a spread needs a number")
        if not all(map(math.isfinite, found)):
            return cls(math.nan, math.nan, math.nan, len(found))
        return cls(statistics.median(found), found[0], found[-1], len(found))

    @property
    def is_finite(self) -> bool:
        """Return whether all of its runs gave a finite number."""
        return math.isfinite(self.median)

    def times(self, factor: float) -> "Spread":
        """Return the spread in another unit."""
        return Spread(self.median * factor, self.low * factor, self.high * factor, self.num_runs)

    def speed_up(self, baseline: "Spread") -> "Spread":
        """Return how many times as fast as the baseline's median these runs are.

        That of the baseline itself is 1, whatever its single runs took.
        """
        if self == baseline and self.is_finite:
            return Spread(1.0, 1.0, 1.0, self.num_runs)
        base = baseline.median
        return Spread(base / self.median, base / self.high, base / self.low, self.num_runs)

    def text(self, pattern: str = "{:.3g}", unit: str = "") -> str:
        """Return `1.2 s (1.1 to 1.4 s in 3 runs)`."""
        if not self.is_finite:
            return "no finite number"
        after = f" {unit}" if unit else ""
        if self.num_runs == 1:
            return f"{pattern.format(self.median)}{after} (one run)"
        low, high = pattern.format(self.low), pattern.format(self.high)
        if low == high:
            return f"{low}{after} (in each of {self.num_runs} runs)"
        return (
            f"{pattern.format(self.median)}{after} ({low} to {high}{after} in {self.num_runs} runs)"
        )


@dataclass(frozen=True)
class Results:
    """All runs, by the name of their point, and what was not measured."""

    runs: Mapping[str, Sequence[Measurement]]
    machine: Machine
    left_out: Mapping[str, str]
    """Points that were not begun: why, by name."""
    images: str = ""
    """Which ones were learned from."""

    def by_repeat(self, point: str) -> dict[int, tuple[Mapping[str, Any], ...]]:
        """Return what the ranks reported in each run of a point; each run has its own seed."""
        return {run.repeat: run.ranks for run in self.runs.get(point, ()) if run.ranks}

    def with_common_runs(self, points: Collection[str]) -> "Results":
        """Return the results with those runs of these points that all of them have.

        Each run has its own seed: what a seed changes can be compared only in the same runs. A
        point without runs stays missing.
        """
        found = [runs for point in points if (runs := self.by_repeat(point).keys())]
        common = set(found[0]).intersection(*found[1:]) if found else set()
        if not common:
            return self
        kept = {
            name: [each for each in runs if not each.ranks or each.repeat in common]
            for name, runs in self.runs.items()
            if name in points
        }
        return replace(self, runs={**self.runs, **kept})

    def reports(self, point: str) -> list[tuple[Mapping[str, Any], ...]]:
        """Return what the ranks reported in each run of a point that did not fail."""
        return list(self.by_repeat(point).values())

    def numbers(self, point: str, key: str) -> list[float]:
        """Return the number that rank 0 reported under a key, of each run."""
        return [float(ranks[0][key]) for ranks in self.reports(point) if key in ranks[0]]

    def spread(self, point: str, key: str) -> Spread | None:
        """Return the spread of what rank 0 reported; None where nothing was measured."""
        found = self.numbers(point, key)
        return Spread.of(found) if found else None

    def speed_up(self, point: str, baseline: str, key: str = "time_s") -> Spread | None:
        """Return how many times as fast a point is as another; None where a time is missing."""
        time_s, base_s = self.spread(point, key), self.spread(baseline, key)
        return time_s.speed_up(base_s) if time_s is not None and base_s is not None else None

    def why_missing(self, point: str) -> str:
        """Return why a point has no figure; empty where it has one."""
        if self.reports(point):
            return ""
        failures = [run.failure for run in self.runs.get(point, ()) if run.failure]
        return failures[0] if failures else self.left_out.get(point, "was not measured")

    def why_in_short(self, point: str) -> str:
        """Return, shortened for a cell of a table, why a point has no figure."""
        why = self.why_missing(point).partition(";")[0]
        return why if len(why) <= _MOST_CELL_CHARS else f"{why[: _MOST_CELL_CHARS - 3]}..."

    def failed_runs(self) -> list[Measurement]:
        """Return the failed runs of points that also have other runs."""
        return [
            run for runs in self.runs.values() for run in runs if run.failure
            and any(each.ranks for each in runs)
        ]  # fmt: skip

    @property
    def busy_share(self) -> float:
        """Return the median over all runs of what other programs took of the cores' time."""
        shares = [run.busy_share for runs in self.runs.values() for run in runs]
        return statistics.median(shares or [0.0])

    def is_oversubscribed(self, num_ranks: int) -> bool:
        """Return whether ranks must share cores."""
        return num_ranks > self.machine.num_cores


def compared(
    one: str, first: Spread | None, other: str, second: Spread | None, *, unit: str
) -> str:
    """Return one sentence that says which of two is faster, or that this is not known."""
    if first is None or second is None:
        return ""
    if second.median < first.median:
        one, first, other, second = other, second, one, first
    subject = one[0].upper() + one[1:]
    if not (first.is_finite and second.is_finite):
        which = one if not first.is_finite else other
        return f"{subject} and {other} cannot be compared: {which} has no finite number."
    figures = f"{first.text(unit=unit)} against {second.text(unit=unit)}"
    if min(first.num_runs, second.num_runs) < FEWEST_RUNS:
        return f"{subject} and {other}: {figures}. A claim needs {FEWEST_RUNS} runs of each."
    if first.high >= second.low:
        return f"{subject} and {other}: {figures}. This difference is within the spread."
    return f"{subject} is faster than {other}: {figures}."
