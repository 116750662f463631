"""Points are decimal numbers, as an author writes them: they add up as on paper."""

from collections.abc import Iterable
from fractions import Fraction

MAX_NUM_DECIMALS = 6


def checked(value: object) -> float:
    """Return the points that an author wrote.

    Raises ValueError when it is no number, less than 0, or has more decimals than add up on paper:
    three times 1/3 is not 1.
    """
    if type(value) not in (int, float) or not 0 <= value < float("inf"):  # type: ignore[operator]
        raise ValueError(f"expected a number of points that is at least 0, found {value!r:.60}")
    if (_exact(value) * 10**MAX_NUM_DECIMALS).denominator != 1:  # type: ignore[arg-type]
        raise ValueError(
            f"points may have {MAX_NUM_DECIMALS} decimals, so that sums come out exactly; "
            f"found {value!r}"
        )
    return float(value)  # type: ignore[arg-type]


def total(points: Iterable[float]) -> float:
    """Return the float nearest to the sum of these numbers as they are written: 0.3 of 0.1, 0.2."""
    return float(sum(map(_exact, points)))


def written(points: float) -> str:
    """Return points as a person writes them: `3`, `2.5`."""
    return f"{points:.15g}"


def _exact(number: float) -> Fraction:
    return Fraction(repr(float(number)))
