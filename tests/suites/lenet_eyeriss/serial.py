"""The oracle of the training: LeNet-5 in numpy and float64, one process, written apart from torch.

Parameters travel as one packed vector in the order of `SHAPES`, which is that of the model's
parameters(): weights before biases, layer by layer.
"""

from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

SHAPES = {
    "c1.weight": (6, 1, 5, 5),
    "c1.bias": (6,),
    "c3.weight": (16, 6, 5, 5),
    "c3.bias": (16,),
    "c5.weight": (120, 16, 5, 5),
    "c5.bias": (120,),
    "f6.weight": (84, 120),
    "f6.bias": (84,),
    "output.weight": (10, 84),
    "output.bias": (10,),
}
NUM_PARAMETERS = sum(prod(shape) for shape in SHAPES.values())

_ENDS = np.cumsum([0, *(prod(shape) for shape in SHAPES.values())])
SLICES = {
    name: slice(int(start), int(end))
    for name, (start, end) in zip(SHAPES, pairwise(_ENDS), strict=True)
}
"""Where each parameter lies in a packed vector."""


def name_at(index: int) -> str:
    """Return how a student knows one element of a packed vector, such as `c3.bias[7]`."""
    name = next(name for name, where in SLICES.items() if where.start <= index < where.stop)
    place = np.unravel_index(index - SLICES[name].start, SHAPES[name])
    return f"{name}[{', '.join(str(int(i)) for i in place)}]"


def start_parameters(random: np.random.Generator) -> NDArray[np.float32]:
    """Return weights and biases as torch draws them: uniform, by the number of inputs of a unit."""
    pieces = []
    for name, shape in SHAPES.items():
        num_inputs = prod(SHAPES[name.replace("bias", "weight")][1:])
        bound = 1 / np.sqrt(num_inputs)
        pieces.append(random.uniform(-bound, bound, prod(shape)))
    return np.concatenate(pieces).astype(np.float32)


def gradient(parameters: Vector, pixels: Vector, labels: NDArray[np.int64]) -> Vector:
    """Return the packed gradient of the cross entropy, averaged over the examples.

    pixels: (batch, 28, 28), 0 to 255. labels: (batch,), 0 to 9.
    """
    weights = {name: parameters[SLICES[name]].reshape(shape) for name, shape in SHAPES.items()}
    padded = np.pad(pixels / 255, ((0, 0), (2, 2), (2, 2)))[:, None]

    c1 = np.tanh(_convolved(padded, weights["c1.weight"], weights["c1.bias"]))
    s2 = _pooled(c1)
    c3 = np.tanh(_convolved(s2, weights["c3.weight"], weights["c3.bias"]))
    s4 = _pooled(c3)
    c5 = np.tanh(_convolved(s4, weights["c5.weight"], weights["c5.bias"]))[:, :, 0, 0]
    f6 = np.tanh(c5 @ weights["f6.weight"].T + weights["f6.bias"])
    outputs = f6 @ weights["output.weight"].T + weights["output.bias"]

    likelihoods = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    likelihoods /= likelihoods.sum(axis=1, keepdims=True)
    error = (likelihoods - np.eye(10)[labels]) / len(labels)

    found = {"output.weight": error.T @ f6, "output.bias": error.sum(axis=0)}
    error = (error @ weights["output.weight"]) * (1 - f6**2)
    found |= {"f6.weight": error.T @ c5, "f6.bias": error.sum(axis=0)}
    error = ((error @ weights["f6.weight"]) * (1 - c5**2))[:, :, None, None]
    for layer, inputs, below in (("c5", s4, c3), ("c3", s2, c1), ("c1", padded, None)):
        kernel = weights[f"{layer}.weight"]
        found[f"{layer}.weight"] = np.tensordot(
            error, _windows(inputs, kernel), ((0, 2, 3), (0, 2, 3))
        )
        found[f"{layer}.bias"] = error.sum(axis=(0, 2, 3))
        if below is not None:
            error = _unpooled(_convolved_back(error, kernel)) * (1 - below**2)
    return np.concatenate([found[name].ravel() for name in SHAPES])


def train(
    start: NDArray[np.float32], pixels: Vector, labels: NDArray[np.int64], learning_rate: float
) -> Vector:
    """Return the packed parameters after every epoch of one full-batch step: a row an epoch.

    pixels: (epochs, batch, 28, 28). labels: (epochs, batch).
    """
    parameters, rows = start.astype(np.float64), []
    for images, classes in zip(pixels, labels, strict=True):
        parameters = parameters - learning_rate * gradient(parameters, images, classes)
        rows.append(parameters)
    return np.array(rows)


def _windows(inputs: Vector, kernel: Vector) -> Vector:
    """Return what the kernel sees: (batch, channel, row, column, kernel row, kernel column)."""
    return np.lib.stride_tricks.sliding_window_view(inputs, kernel.shape[2:], axis=(2, 3))


def _convolved(inputs: Vector, kernel: Vector, bias: Vector) -> Vector:
    windows = _windows(inputs, kernel)
    return (
        np.tensordot(windows, kernel, ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)
        + (bias[:, None, None])
    )


def _convolved_back(error: Vector, kernel: Vector) -> Vector:
    """Return the gradient at a convolution's inputs: an error goes back to what its window saw."""
    batch, _, height, width = error.shape
    _, channels, num_rows, num_taps = kernel.shape
    inputs = np.zeros((batch, channels, height + num_rows - 1, width + num_taps - 1))
    for r in range(num_rows):
        for s in range(num_taps):
            share = np.einsum("bohw,oi->bihw", error, kernel[:, :, r, s])
            inputs[:, :, r : r + height, s : s + width] += share
    return inputs


def _pooled(maps: Vector) -> Vector:
    batch, channels, height, width = maps.shape
    return maps.reshape(batch, channels, height // 2, 2, width // 2, 2).mean(axis=(3, 5))


def _unpooled(error: Vector) -> Vector:
    return error.repeat(2, axis=2).repeat(2, axis=3) / 4
