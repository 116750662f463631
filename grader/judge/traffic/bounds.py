"""What a suite expects of a number: exactly so many, or so many at least and at most."""

Bounds = int | tuple[int, int]
"""A number, or (fewest, most), both of which are allowed."""


def bounds_of(expected: Bounds) -> tuple[int, int]:
    """Return the fewest and the most. Raises ValueError where no number is between them."""
    low, high = (expected, expected) if isinstance(expected, int) else expected
    if not 0 <= low <= high:
        raise ValueError(f"{expected!r}: expected a number of 0 or more, or (fewest, most)")
    return low, high


def bounds_text(expected: Bounds) -> str:
    """Return `2`, or `2 to 4`."""
    low, high = bounds_of(expected)
    return str(low) if low == high else f"{low} to {high}"
