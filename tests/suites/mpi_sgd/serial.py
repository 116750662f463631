"""The oracle of the fits: the same network in one process, written apart from the support files.

Parameters travel as one packed vector: weights of layer 1, 2, ..., then biases of layer 1, 2, ...
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from grader import oracles
from grader.oracles import (
    Layer,
    Pass,
    half_squared_error,
    layer,
    linear,
    loss_and_gradient,
    num_elements,
    sigmoid,
)

Vector = NDArray[np.float64]


def shapes(sizes: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array of a network, by the name a student knows it by."""
    weights = {f"weights[{i}]": pair for i, pair in enumerate(pairwise(sizes), start=1)}
    biases = {f"biases[{i}]": (size,) for i, size in enumerate(sizes[1:], start=1)}
    return {**weights, **biases}


def num_parameters(sizes: Sequence[int]) -> int:
    """Return how many numbers a packed vector has."""
    return num_elements(shapes(sizes))


def unpacked(packed: Vector, sizes: Sequence[int]) -> dict[str, Vector]:
    """Return the arrays of a packed vector by name."""
    return oracles.unpacked(packed, shapes(sizes))


def packed(arrays: Mapping[str, Vector], sizes: Sequence[int]) -> Vector:
    """Return the packed vector of arrays by name."""
    return oracles.packed(arrays, shapes(sizes))


def gradient(parameters: Vector, sizes: Sequence[int], inputs: Vector, labels: Vector) -> Vector:
    """Return the packed gradient of half the squared distance of the outputs from the labels.

    inputs: (batch, sizes[0]); labels: (batch, sizes[-1]). It is summed over the batch.
    """
    layers = _layers(len(sizes) - 1)
    arrays = unpacked(parameters, sizes)
    _, found = loss_and_gradient(layers, arrays, inputs, labels, loss=half_squared_error)
    return packed(found, sizes)


def train(
    start: Vector,
    sizes: Sequence[int],
    learning_rate: float,
    batches: Iterable[tuple[Vector, Vector]],
    *,
    keeps_sums: bool = False,
) -> Vector:
    """Return the packed parameters after one step of gradient descent on each batch in turn.

    keeps_sums: each step takes the gradients of all batches so far, a mistake that is looked for.
    """
    parameters, kept = start, np.zeros_like(start)
    for inputs, labels in batches:
        step = gradient(parameters, sizes, inputs, labels)
        kept = kept + step if keeps_sums else step
        parameters = parameters - learning_rate * kept
    return parameters


@cache
def _layers(number: int) -> tuple[Layer, ...]:
    found: list[Layer] = []
    for i in range(1, number + 1):
        found += [layer(_dense, f"weights[{i}]", f"biases[{i}]"), layer(sigmoid)]
    return tuple(found)


def _dense(inputs: Vector, weights: Vector, biases: Vector) -> Pass:
    """Return inputs times weights, plus biases: here weights are (inputs, outputs)."""
    outputs, backward = linear(inputs, weights.T, biases)

    def transposed(upstream: Vector) -> tuple[Vector, ...]:
        at_inputs, at_weights, at_biases = backward(upstream)
        return at_inputs, at_weights.T, at_biases

    return outputs, transposed
