"""Writes numbers for people: no exponent, and no more digits than tell something."""

from decimal import Decimal


def short_number(value: float, num_digits: int = 3) -> str:
    """Return a number in that many significant digits, and in all digits before its point."""
    shown = f"{value:.0f}" if abs(value) >= 10**num_digits else f"{value:.{num_digits}g}"
    return f"{Decimal(shown):f}" if "e" in shown else shown
