"""The oracle of the fits: the same network in one process, written apart from the support files.

Parameters travel as one packed vector: weights of layer 1, 2, ..., then biases of layer 1, 2, ...
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def shapes(sizes: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array of a network, by the name a student knows it by."""
    weights = {f"weights[{i}]": pair for i, pair in enumerate(pairwise(sizes), start=1)}
    biases = {f"biases[{i}]": (size,) for i, size in enumerate(sizes[1:], start=1)}
    return {**weights, **biases}


def num_parameters(sizes: Sequence[int]) -> int:
    """Return how many numbers a packed vector has."""
    return sum(int(np.prod(shape)) for shape in shapes(sizes).values())


def unpacked(packed: Vector, sizes: Sequence[int]) -> dict[str, Vector]:
    """Return the arrays of a packed vector by name."""
    arrays, start = {}, 0
    for name, shape in shapes(sizes).items():
        end = start + int(np.prod(shape))
        arrays[name] = packed[start:end].reshape(shape)
        start = end
    return arrays


def packed(arrays: Mapping[str, Vector], sizes: Sequence[int]) -> Vector:
    """Return the packed vector of arrays by name."""
    return np.concatenate([np.ravel(arrays[name]) for name in shapes(sizes)])


def loss(parameters: Vector, sizes: Sequence[int], inputs: Vector, labels: Vector) -> float:
    """Return half the squared distance of the outputs from the labels, summed over the batch."""
    return float(0.5 * np.sum((_outputs(parameters, sizes, inputs)[-1] - labels) ** 2))


def gradient(parameters: Vector, sizes: Sequence[int], inputs: Vector, labels: Vector) -> Vector:
    """Return the packed gradient of loss().

    inputs: (batch, sizes[0]); labels: (batch, sizes[-1]). Error back-propagation as in Rumelhart,
    Hinton and Williams (1986), from the outputs alone: for y = sigmoid(z), dy/dz = y (1 - y).
    """
    arrays = unpacked(parameters, sizes)
    outputs = _outputs(parameters, sizes, inputs)
    found: dict[str, Vector] = {}
    upstream = outputs[-1] - labels
    for layer in range(len(sizes) - 1, 0, -1):
        at_sums = upstream * outputs[layer] * (1 - outputs[layer])
        found[f"weights[{layer}]"] = np.einsum("bi,bj->ij", outputs[layer - 1], at_sums)
        found[f"biases[{layer}]"] = at_sums.sum(axis=0)
        upstream = at_sums @ arrays[f"weights[{layer}]"].T
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


def _outputs(parameters: Vector, sizes: Sequence[int], inputs: Vector) -> list[Vector]:
    """Return what every layer puts out, the inputs first; shapes (batch, sizes[i])."""
    arrays = unpacked(parameters, sizes)
    outputs = [inputs]
    for layer in range(1, len(sizes)):
        sums = outputs[-1] @ arrays[f"weights[{layer}]"] + arrays[f"biases[{layer}]"]
        outputs.append(1 / (1 + np.exp(-sums)))
    return outputs
