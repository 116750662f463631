"""Points are decimal numbers, as an author writes them: they add up as on paper."""

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

MAX_NUM_DECIMALS = 6
MAX_POINTS = 10**6
"""With so many digits, a float stands for one decimal number only."""

MARK_OF_CLASS = "graded unsealed; the course accepts the result as the mark"
"""The note of a report that a class without containers gives to its students."""
UNSIGNED = "judged from a recording without the course's signature: feedback, not a mark"
"""The note of a report that was judged from such a recording."""
UNPROTECTED = "graded without "
"""How notes begin that are for whoever runs the container."""
NOT_ALL_TESTS = "not all checks were run (--only, --ranks or --fail-fast), so this is not a mark"
"""What a report notes whose points are those of some tests alone; saved ones are known by it."""


def checked(value: object) -> float:
    """Return the points that an author wrote, in Python or, as a Decimal, in a file.

    Raises ValueError when it is no number, less than 0, too great, or has more decimals than add up
    on paper: three times 1/3 is not 1.
    """
    number = _decimal(value)
    if number is None or not 0 <= number <= MAX_POINTS:
        raise ValueError(f"found {value!r:.60}; expected a number of points from 0 to {MAX_POINTS}")
    if number != round(number, MAX_NUM_DECIMALS):
        raise ValueError(
            f"found {value!s:.60}; expected points with at most {MAX_NUM_DECIMALS} decimals"
        )
    return float(number)


def total(points: Iterable[float]) -> float:
    """Return the float nearest to the sum of these numbers as they are written: 0.3 of 0.1, 0.2."""
    return float(sum(map(exact, points)))


def written(points: float) -> str:
    """Return points as a person writes them: `3`, `2.5`."""
    return f"{points:.15g}"


def points_text(points: float) -> str:
    """Return `1 point`, `2.5 points`."""
    return f"{written(points)} point{'' if points == 1 else 's'}"


def exact(number: float) -> Fraction:
    """Return a number as it is written: 1/10 of 0.1."""
    return Fraction(repr(float(number)))


def _decimal(value: object) -> Decimal | None:
    """Return a number as it is written; None for what is no finite number."""
    if type(value) is int or isinstance(value, Decimal):
        exact = Decimal(value)
    elif type(value) is float:
        exact = Decimal(repr(value))
    else:
        return None
    return exact if exact.is_finite() else None
