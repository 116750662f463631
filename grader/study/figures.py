"""Charts and tables as data: what is drawn, and what its CSV holds."""

import csv
import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from grader.study.results import Spread

Cell = str | int | float | None
NOT_MEASURED = "not measured"
_MOST_NAMED = 5
"""So many marks of a series that are not drawn are named."""


@dataclass(frozen=True)
class Dot:
    """One mark of a chart: the median of some runs, with their minimum and maximum."""

    x: float | str
    y: float
    low: float
    high: float
    is_oversubscribed: bool = False
    """Measured with more ranks than cores: its mark is hollow."""
    num_runs: int = 0
    """Of a measurement; 0 for a number that is exact or modelled."""

    @classmethod
    def of(cls, x: float | str, spread: Spread, *, is_oversubscribed: bool = False) -> "Dot":
        """Return the mark of a measured spread."""
        numbers = (spread.median, spread.low, spread.high)
        return cls(x, *numbers, is_oversubscribed, spread.num_runs)

    @classmethod
    def exact(cls, x: float | str, y: float) -> "Dot":
        """Return the mark of a number that has no spread."""
        return cls(x, y, y, y)

    @property
    def is_finite(self) -> bool:
        """Return whether it can be drawn."""
        return all(map(math.isfinite, (self.y, self.low, self.high)))


@dataclass(frozen=True)
class Series:
    """Marks that belong together, by rising x."""

    label: str
    dots: tuple[Dot, ...]
    is_modelled: bool = False
    """Computed and not measured: drawn as a broken line."""
    has_marks: bool = True
    missing: tuple[float | str, ...] = ()
    """Where it should have marks and has none, for nothing was measured."""

    @classmethod
    def measured(
        cls,
        label: str,
        spreads: Mapping[int, Spread | None],
        is_oversubscribed: Callable[[int], bool],
    ) -> "Series":
        """Return the marks of spreads by x, None for what was not measured."""
        dots = (
            Dot.of(x, spread, is_oversubscribed=is_oversubscribed(x))
            for x, spread in spreads.items()
            if spread is not None
        )
        missing = (x for x, spread in spreads.items() if spread is None)
        return cls(label, tuple(dots), missing=tuple(missing))

    @classmethod
    def modelled(
        cls, label: str, by_x: Mapping[int, float | None], *, has_marks: bool = True
    ) -> "Series":
        """Return the marks of modelled numbers by x, None for what could not be modelled."""
        dots = (Dot.exact(x, y) for x, y in by_x.items() if y is not None)
        return cls(label, tuple(dots), is_modelled=True, has_marks=has_marks)

    @property
    def legend(self) -> str:
        """Return its label, with what is missing, so that no gap looks like an oversight."""
        if not self.dots:
            return f"{self.label}: {NOT_MEASURED}"
        if not self.missing:
            return self.label
        return f"{self.label} ({', '.join(map(str, self.missing))}: {NOT_MEASURED})"


@dataclass(frozen=True)
class Chart:
    """One figure."""

    name: str
    """Of its files."""
    title: str
    x_label: str
    """With its unit."""
    y_label: str
    series: tuple[Series, ...]
    caption: str
    is_bars: bool = False
    """Bars side by side for each x, which is then a word."""
    is_stacked: bool = False
    """With is_bars: one upon the other."""
    bars: tuple[str, ...] = ()
    """With is_bars: all that there should be; one without a number is drawn as missing."""
    is_log_x: bool = False
    is_log_y: bool = False
    x_ticks: tuple[float, ...] = ()
    begins_at_zero: bool = True
    """Whether the axis of y does, if it is not logarithmic."""
    is_share: bool = False
    """Whether y is a share of 1, shown in percent from 0 to 100."""

    def finite(self) -> "Chart":
        """Return the chart without marks that are not finite; its caption lists them."""
        told, kept = [], []
        for series in self.series:
            dots = tuple(dot for dot in series.dots if dot.is_finite)
            without = [str(dot.x) for dot in series.dots if not dot.is_finite]
            kept.append(replace(series, dots=dots))
            if without:
                more = len(without) - _MOST_NAMED
                others = f", and {more} more" if more > 0 else ""
                told.append(f"{series.label} at {', '.join(without[:_MOST_NAMED])}{others}")
        if not told:
            return self
        said = f"{self.caption} Not drawn (no finite number): {'; '.join(told)}."
        return replace(self, series=tuple(kept), caption=said)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of its columns."""
        return ("series", self.x_label, self.y_label, "least", "most", "kind")

    @property
    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """Return all marks: series, x, y, low, high and what kind of number each is."""
        rows: list[tuple[Cell, ...]] = []
        for series in self.series:
            for dot in series.dots:
                kind = "modelled" if series.is_modelled else "measured"
                kind += " with more ranks than cores" if dot.is_oversubscribed else ""
                rows.append((series.label, dot.x, dot.y, dot.low, dot.high, kind))
        return tuple(rows)


@dataclass(frozen=True)
class Table:
    """One table."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str
    is_measured: bool = True
    """Else it is computed from formulas alone."""


Figure = Chart | Table


def shown(cell: object) -> str:
    """Return the text of a cell of a table."""
    if cell is None:
        return "-"
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.4g}" if math.isfinite(cell) else "no finite number"


def csv_text(figure: Figure) -> str:
    """Return what it shows with all digits."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([figure.columns, *figure.rows])
    return text.getvalue()
