"""Parameters as one vector: by name and shape, in a fixed order.

Shapes are a mapping from names to shapes; its order is that of the vector, and each array lies in
it row by row.
"""

from collections.abc import Mapping
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.oracles.arrays import assert_shape

Shapes = Mapping[str, tuple[int, ...]]


def num_elements(shapes: Shapes) -> int:
    """Return how many numbers a packed vector has."""
    return sum(map(prod, shapes.values()))


def slices(shapes: Shapes) -> dict[str, slice]:
    """Return where each array lies in a packed vector."""
    ends = accumulate(map(prod, shapes.values()), initial=0)
    return {name: slice(*bounds) for name, bounds in zip(shapes, pairwise(ends), strict=True)}


def packed(arrays: Mapping[str, NDArray[Any]], shapes: Shapes) -> NDArray[Any]:
    """Return the packed vector of arrays by name; of none, a vector without elements.

    Raises ValueError for names or shapes that differ from `shapes`.
    """
    if arrays.keys() != shapes.keys():
        raise ValueError(
            f"found the arrays {', '.join(arrays) or 'none'}, expected "
            f"{', '.join(shapes) or 'none'}; "
            "give each array its name"
        )
    for name, shape in shapes.items():
        assert_shape(name, arrays[name], shape, "an array is packed as the shapes have it")
    return np.concatenate([arrays[name].ravel() for name in shapes]) if shapes else np.zeros(0)


def unpacked(vector: NDArray[Any], shapes: Shapes) -> dict[str, NDArray[Any]]:
    """Return the arrays of a packed vector by name; they share its memory.

    Raises ValueError if the vector's length does not match the shapes.
    """
    hint = "it has all arrays of the shapes, one after the other"
    assert_shape("packed vector", vector, (num_elements(shapes),), hint)
    places = slices(shapes)
    return {name: vector[places[name]].reshape(shape) for name, shape in shapes.items()}


def element_name(index: int, shapes: Shapes) -> str:
    """Return the name of an element of a packed vector, such as `conv1.bias[7]`.

    Raises ValueError for an index out of range.
    """
    for name, place in slices(shapes).items():
        if place.start <= index < place.stop:
            indices = np.unravel_index(index - place.start, shapes[name])
            return f"{name}[{', '.join(str(int(each)) for each in indices)}]"
    raise ValueError(
        f"found index {index}, expected 0 to {num_elements(shapes) - 1}; a packed vector has no "
        "more elements than its shapes"
    )
