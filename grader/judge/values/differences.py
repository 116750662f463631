"""Says where two arrays differ and prints two numbers so that they can be told apart."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_FEWEST_DIGITS = 6
_MOST_DIGITS = 17


def shortest_different(one: Any, other: Any) -> tuple[str, str]:
    """Return two numbers in at least 6 significant digits, and in as many as tell them apart."""
    if all(isinstance(each, (np.bool_, np.integer)) for each in (one, other)):
        return str(one), str(other)
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1):
        texts = tuple(_short(each, digits) for each in (one, other))
        if texts[0] != texts[1]:
            return texts[0], texts[1]
    return str(one), str(other)


def _short(value: Any, digits: int) -> str:
    return str(value) if isinstance(value, (np.bool_, np.integer)) else f"{value:.{digits}g}"


def first_index(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the index of the first true element."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def index_text(index: tuple[int, ...]) -> str:
    """Return `[1, 3]`, or nothing for an array without dimensions."""
    return f"[{', '.join(map(str, index))}]" if index else ""


def extent_text(mask: NDArray[np.bool_], verb: str) -> str:
    """Return how many elements are meant, and their range when they are in one piece."""
    number, size = int(np.count_nonzero(mask)), mask.size
    if size == 1:
        return ""
    places = np.flatnonzero(mask)
    in_one_piece = mask.ndim == 1 and 1 < number < size and places[-1] - places[0] == number - 1
    where = f": {places[0]} to {places[-1]}" if in_one_piece else ""
    if number == 1 and verb == "differ":
        verb = "differs"
    return f" ({number} of {size} elements {verb}{where})"
