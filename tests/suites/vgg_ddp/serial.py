"""The oracle of a training: packed parameters, and the steps of stochastic gradient descent.

Parameters travel as one packed vector, in the order in which torch names them.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import layers
from .layers import Values

LEARNING_RATE = 0.1
MOMENTUM = 0.9
WEIGHT_DECAY = 1e-4


def sgd(
    start: NDArray[Any],
    reached: NDArray[Any],
    gradients: NDArray[Any],
    *,
    learning_rate: float = LEARNING_RATE,
    momentum: float = MOMENTUM,
    weight_decay: float = WEIGHT_DECAY,
    nesterov: bool = False,
) -> list[Values]:
    """Return where each step of SGD ends that begins where the one before it has ended.

    start: packed parameters before all steps. reached: after each step, as they were seen, so that
    roundings do not add up. gradients: one for each step. The momentum gathers all of them, each
    with the decay of the weights; Nesterov's looks a step ahead (Sutskever et al., 2013).
    """
    velocity = np.zeros(len(start))
    ends = []
    before = [start, *reached][: len(gradients)]
    for parameters, gradient in zip(before, gradients, strict=True):
        wide = parameters.astype(np.float64)
        slope = gradient + weight_decay * wide
        velocity = momentum * velocity + slope
        direction = slope + momentum * velocity if nesterov else velocity
        ends.append(wide - learning_rate * direction)
    return ends


def num_parameters(first_channels: int) -> int:
    """Return how many numbers a packed vector has."""
    return sum(int(np.prod(shape)) for shape in layers.shapes(first_channels).values())


def unpacked(vector: NDArray[Any], first_channels: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of a packed vector by the names torch gives them."""
    found, begin = {}, 0
    for name, shape in layers.shapes(first_channels).items():
        end = begin + int(np.prod(shape))
        found[name] = vector[begin:end].reshape(shape)
        begin = end
    return found


def packed(named: Mapping[str, Values], first_channels: int) -> Values:
    """Return the packed vector of arrays by name."""
    return np.concatenate([named[name].ravel() for name in layers.shapes(first_channels)])
