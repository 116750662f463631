"""When two models count as equal, and how a difference is told.

Scripts compute in float32 and sum in any order; a step changes many a weight by little more than
float32 can hold. So models are compared by how far they are apart in relation to how far the step
went, array by array.
"""

import numpy as np

from grader.oracles import unpacked

from . import lenet

DEVIATION = 0.02
"""Of the way a step goes: far above rounding, far below any mistake in a mean."""

_FLOAT32_EPSILON = float(np.finfo(np.float32).eps)


def fits(found: lenet.Vector, expected: lenet.Vector, before: lenet.Vector) -> bool:
    """Return whether every array of a packed model is where the way from `before` was to lead."""
    return not misfits(found - before, expected - before, rounding(expected))


def misfits(
    found: lenet.Vector, expected: lenet.Vector, noise: lenet.Vector | float
) -> tuple[str, ...]:
    """Return the names of the arrays in which two packed ways, or gradients, differ.

    noise: how far rounding alone may take each number off.
    """
    got, wanted, rounded = (
        unpacked(np.broadcast_to(each, found.shape), lenet.SHAPES)
        for each in (found, expected, noise)
    )
    return tuple(
        name
        for name in lenet.SHAPES
        if np.linalg.norm(got[name] - wanted[name])
        > DEVIATION * np.linalg.norm(wanted[name]) + np.linalg.norm(rounded[name])
    )


def rounding(model: lenet.Vector) -> lenet.Vector:
    """Return how far float32 may take each number of a model off in a step and its comparison."""
    return 2 * _FLOAT32_EPSILON * np.abs(model)


def difference_text(found: lenet.Vector, expected: lenet.Vector) -> str:
    """Return the number that differs most, by name: `fc1.bias[7] is 0.1, expected 0.2`."""
    got, wanted = (unpacked(each, lenet.SHAPES) for each in (found, expected))
    name = max(lenet.SHAPES, key=lambda each: np.abs(got[each] - wanted[each]).max(initial=0.0))
    apart = np.abs(got[name] - wanted[name])
    index = np.unravel_index(int(apart.argmax()), apart.shape)
    place = ", ".join(map(str, map(int, index)))
    return f"{name}[{place}] is {got[name][index]:.7g}, expected {wanted[name][index]:.7g}"
