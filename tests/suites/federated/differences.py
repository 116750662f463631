"""When two models count as equal, and how a difference is told.

Scripts compute in float32 and sum in any order; a step changes many a weight by little more than
float32 can hold. So models are compared by how far they are apart in relation to how far the step
went, array by array.
"""

import numpy as np

from grader.api import Finding, found
from grader.oracles import unpacked

from . import lenet

DEVIATION = 0.02
"""Of the way a step goes: far above rounding, far below any mistake in a mean."""
_DEVIATION_OF_A_STEP = 0.005
"""Where a unit that rounding decides is looked for besides."""

_AT_A_KINK = 0.5
"""Of the way of a step, that one unit in one example may change for the layers below it."""

_FLOAT32_EPSILON = float(np.finfo(np.float32).eps)


def fits(model: lenet.Vector, expected: lenet.Vector, before: lenet.Vector) -> bool:
    """Return whether every array of a packed model is where the way from `before` was to lead."""
    return not misfits(model - before, expected - before, rounding(expected))


def follows(model: lenet.Vector, expected: lenet.Vector, before: lenet.Vector) -> bool:
    """Return whether a step led where it should, whichever way rounding decides at a ReLU.

    A unit whose input is nearly zero passes on its gradient or does not, for one example. That
    changes the layers below it, and never the last one.
    """
    way, wanted, noise = model - before, expected - before, rounding(expected)
    names = misfits(way, wanted, noise, _DEVIATION_OF_A_STEP)
    is_below = not any(name.startswith("fc3") for name in names)
    return not names or (is_below and not misfits(way, wanted, noise, _AT_A_KINK))


def misfits(
    way: lenet.Vector,
    expected: lenet.Vector,
    noise: lenet.Vector | float,
    deviation: float = DEVIATION,
) -> tuple[str, ...]:
    """Return the names of the arrays in which two packed ways, or gradients, differ.

    noise: how far rounding alone may take each number off. deviation: of the expected way, that is
    allowed besides.
    """
    got, wanted, rounded = (
        unpacked(np.broadcast_to(each, way.shape), lenet.SHAPES) for each in (way, expected, noise)
    )
    return tuple(
        name
        for name in lenet.SHAPES
        if np.linalg.norm(got[name] - wanted[name])
        > deviation * np.linalg.norm(wanted[name]) + np.linalg.norm(rounded[name])
    )


def rounding(model: lenet.Vector) -> lenet.Vector:
    """Return how far float32 may take each number of a model off in a step and its comparison."""
    return 2 * _FLOAT32_EPSILON * np.abs(model)


def difference(
    model: lenet.Vector, expected: lenet.Vector, *, ranks: tuple[int, int] | None = None
) -> Finding:
    """Return the number that differs most, by name: `fc1.bias[7] is 0.1; expected 0.2`.

    ranks: whose models these are, where both are those of ranks.
    """
    got, wanted = (unpacked(each, lenet.SHAPES) for each in (model, expected))
    name = max(lenet.SHAPES, key=lambda each: np.abs(got[each] - wanted[each]).max(initial=0.0))
    apart = np.abs(got[name] - wanted[name])
    index = np.unravel_index(int(apart.argmax()), apart.shape)
    is_now, should_be = (f"{each[name][index]:.7g}" for each in (got, wanted))
    place = f"{name}[{', '.join(map(str, map(int, index)))}]"
    told = f"{place} is {is_now}; expected {should_be}."
    if ranks is not None:
        told = f"{place} is {is_now} on rank {ranks[0]} and {should_be} on rank {ranks[1]}."
    return found("model.differs", told, name=name)
