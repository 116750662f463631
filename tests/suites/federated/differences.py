"""When two models count as equal, and how a difference is told.

Scripts compute in float32 and sum in any order; a step changes many a weight by little more than
float32 can hold. So models are compared by how far they are apart in relation to how far the step
went, array by array.
"""

import numpy as np

from . import lenet

DEVIATION = 0.02
"""Of the way a step goes: far above rounding, far below any mistake in a mean."""

_FLOAT32_EPSILON = float(np.finfo(np.float32).eps)


def fits(found: lenet.Vector, expected: lenet.Vector, before: lenet.Vector) -> bool:
    """Return whether every array of a model is where the way from `before` was to lead.

    All three are packed, or are one array of a model each.
    """
    if found.shape != (lenet.NUM_PARAMETERS,):
        return _near(found, expected, before)
    arrays = [lenet.unpacked(each) for each in (found, expected, before)]
    return all(_near(*(each[name] for each in arrays)) for name in lenet.SHAPES)


def same(found: lenet.Vector, expected: lenet.Vector) -> bool:
    """Return whether two gradients, or two ways, are equal but for rounding."""
    distance = np.linalg.norm(found - expected)
    return bool(distance <= DEVIATION * np.linalg.norm(expected))


def difference_text(found: lenet.Vector, expected: lenet.Vector) -> str:
    """Return the number that differs most, by name: `fc1.bias[7] is 0.1, expected 0.2`."""
    got, wanted = lenet.unpacked(found), lenet.unpacked(expected)
    name = max(lenet.SHAPES, key=lambda each: np.abs(got[each] - wanted[each]).max(initial=0.0))
    apart = np.abs(got[name] - wanted[name])
    index = np.unravel_index(int(apart.argmax()), apart.shape)
    place = ", ".join(map(str, map(int, index)))
    return f"{name}[{place}] is {got[name][index]:.7g}, expected {wanted[name][index]:.7g}"


def _near(found: lenet.Vector, expected: lenet.Vector, before: lenet.Vector) -> bool:
    way = np.linalg.norm(expected - before)
    rounding = _FLOAT32_EPSILON * np.linalg.norm(expected)
    return bool(np.linalg.norm(found - expected) <= DEVIATION * way + 2 * rounding)
