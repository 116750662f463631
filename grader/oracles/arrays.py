"""Types of the arrays that oracles compute with, and the sentences for those that do not fit."""

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

Values = NDArray[Any]
"""Floating-point numbers. Of which precision is for the suite to say, in types of its own."""

Labels = NDArray[Any]
"""Whole numbers."""

Backward = Callable[[Values], tuple[Values, ...]]
"""From the gradient at a layer's outputs to those at its inputs and at each of its parameters."""

Pass = tuple[Values, Backward]
"""The outputs of a layer, and its way back."""


def assert_floating(what: str, array: NDArray[Any]) -> None:
    """Assert that an array holds floating-point numbers.

    what: whose numbers they are. Raises ValueError with the dtype.
    """
    if array.dtype.kind != "f":
        raise ValueError(
            f"{what}: found {array.dtype}, expected floating-point numbers; convert them, for "
            "example by .astype(np.float64)"
        )


def assert_shape(what: str, array: NDArray[Any], axes: tuple[int | str, ...], hint: str) -> None:
    """Assert that an array has the expected shape.

    what: whose shape it is. axes: lengths, and names for axes of any length. hint: how to mend it.
    Raises ValueError with both shapes.
    """
    if len(axes) == array.ndim:
        for length, wanted in zip(array.shape, axes, strict=True):
            if length != wanted and not isinstance(wanted, str):
                break
        else:
            return
    expected = f"({', '.join(map(str, axes))}{',' * (len(axes) == 1)})"
    raise ValueError(f"{what}: found shape {array.shape}, expected {expected}; {hint}")


def assert_upstream(layer: str, upstream: NDArray[Any], outputs: NDArray[Any]) -> None:
    """Assert that a gradient has the shape of the outputs it is taken at. Raises ValueError."""
    if upstream.shape != outputs.shape:
        raise ValueError(
            f"{layer}, backward: found shape {upstream.shape}, expected {outputs.shape}; it takes "
            "the gradient at the layer's outputs, a number for each of them"
        )
