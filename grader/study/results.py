"""What a study has measured so far, and what may be said of it."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Machine:
    """Where a study was made."""

    num_cores: int
    """That its processes could use."""
    processor: str
    software: Mapping[str, str]
    """Versions by name."""


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


@dataclass(frozen=True)
class Spread:
    """The median of several runs, the least and the most."""

    median: float
    low: float
    high: float
    num_runs: int

    @classmethod
    def of(cls, numbers: Iterable[float]) -> "Spread":
        """Return the spread of some numbers. Raises ValueError where there are none."""
        found = sorted(numbers)
        if not found:
            raise ValueError("a spread takes a number")
        return cls(statistics.median(found), found[0], found[-1], len(found))

    def times(self, factor: float) -> "Spread":
        """Return it in another unit."""
        return Spread(self.median * factor, self.low * factor, self.high * factor, self.num_runs)

    def text(self, pattern: str = "{:.3g}", unit: str = "") -> str:
        """Return `1.2 s (1.1 to 1.4 s in 3 runs)`."""
        after = f" {unit}" if unit else ""
        if self.num_runs == 1:
            return f"{pattern.format(self.median)}{after} (one run)"
        low, high = pattern.format(self.low), pattern.format(self.high)
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

    def reports(self, point: str) -> list[tuple[Mapping[str, Any], ...]]:
        """Return what the ranks reported in each run of a point that did not fail."""
        return [run.ranks for run in self.runs.get(point, ()) if run.ranks]

    def numbers(self, point: str, key: str) -> list[float]:
        """Return the finite numbers that rank 0 reported under a key, one of each run."""
        found = [float(ranks[0][key]) for ranks in self.reports(point) if key in ranks[0]]
        return [number for number in found if math.isfinite(number)]

    def spread(self, point: str, key: str) -> Spread | None:
        """Return the spread of what rank 0 reported; None where nothing was measured."""
        found = self.numbers(point, key)
        return Spread.of(found) if found else None

    def why_missing(self, point: str) -> str:
        """Return why a point has no figure; empty where it has one."""
        if self.reports(point):
            return ""
        failures = [run.failure for run in self.runs.get(point, ()) if run.failure]
        return failures[0] if failures else self.left_out.get(point, "was not measured")

    def doubts(self, point: str) -> list[str]:
        """Return what the marks of a point do not tell: runs that failed, numbers without a mark.

        Empty where nothing was measured: `why_missing` has the reason then.
        """
        runs = self.runs.get(point, ())
        if not self.reports(point):
            return []
        found = [f"a run of {len(runs)} {run.failure}" for run in runs if run.failure]
        for name in dict.fromkeys(key for ranks in self.reports(point) for key in ranks[0]):
            told = [ranks[0].get(name) for ranks in self.reports(point)]
            odd = [each for each in told if isinstance(each, float) and not math.isfinite(each)]
            if odd:
                found.append(f"{name} was {odd[0]} in {len(odd)} of {len(told)} runs")
        return found

    def is_oversubscribed(self, num_ranks: int) -> bool:
        """Return whether so many ranks have to share cores."""
        return num_ranks > self.machine.num_cores


def compared(
    one: str, first: Spread | None, other: str, second: Spread | None, *, less: str, unit: str
) -> str:
    """Return one sentence on which of two is less, or that this cannot be said.

    one, other: what was measured. less: the word for having the smaller number, such as `faster`.
    Empty where one of them is missing.
    """
    if first is None or second is None:
        return ""
    if second.median < first.median:
        one, first, other, second = other, second, one, first
    figures = f"{first.text(unit=unit)} against {second.text(unit=unit)}"
    if first.num_runs == 1 or second.num_runs == 1:
        return f"{one} was {less} than {other}: {figures}; how much that varies is not known."
    if first.high >= second.low:
        return f"{one} and {other}: {figures}; this difference is within the spread."
    return f"{one} is {less} than {other}: {figures}."
