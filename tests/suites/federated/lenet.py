"""The oracle's network: Net of the support files in numpy, with its gradient.

Parameters travel as one packed vector, arrays in the order of the state dict. All is computed in
the floating-point type of the parameters.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.floating]

SHAPES: Mapping[str, tuple[int, ...]] = {
    "conv1.weight": (6, 3, 5, 5),
    "conv1.bias": (6,),
    "conv2.weight": (16, 6, 5, 5),
    "conv2.bias": (16,),
    "fc1.weight": (120, 400),
    "fc1.bias": (120,),
    "fc2.weight": (84, 120),
    "fc2.bias": (84,),
    "fc3.weight": (10, 84),
    "fc3.bias": (10,),
}
NUM_PARAMETERS = sum(int(np.prod(shape)) for shape in SHAPES.values())
FLOAT32_NUM_BYTES = 4
MODEL_NUM_BYTES = NUM_PARAMETERS * FLOAT32_NUM_BYTES
IMAGE_NUM_BYTES = 3 * 32 * 32 * FLOAT32_NUM_BYTES

LEARNING_RATE = 0.01
MOMENTUM = 0.9

_KERNEL = 5
_CHUNK = 10
"""Examples whose gradient is computed at once."""


def unpacked(packed: Vector) -> dict[str, Vector]:
    """Return the arrays of a packed vector by name."""
    arrays, begin = {}, 0
    for name, shape in SHAPES.items():
        end = begin + int(np.prod(shape))
        arrays[name] = packed[begin:end].reshape(shape)
        begin = end
    return arrays


def packed(arrays: Mapping[str, Vector]) -> Vector:
    """Return the packed vector of arrays by name."""
    return np.concatenate([np.ravel(arrays[name]) for name in SHAPES])


def loss(parameters: Vector, images: Vector, labels: NDArray[np.int64]) -> float:
    """Return the mean cross-entropy of the labels; images: (batch, 3, 32, 32)."""
    return float(np.mean(_errors(_forward(unpacked(parameters), images)[0], labels)[0]))


def gradient(parameters: Vector, images: Vector, labels: NDArray[np.int64]) -> Vector:
    """Return the packed gradient of loss()."""
    total = np.zeros_like(parameters)
    # Few at a time: what fits into a cache is computed three times as fast.
    for begin in range(0, len(labels), _CHUNK):
        some = slice(begin, begin + _CHUNK)
        share = len(labels[some]) / len(labels)
        total += parameters.dtype.type(share) * _gradient(parameters, images[some], labels[some])
    return total


def _gradient(parameters: Vector, images: Vector, labels: NDArray[np.int64]) -> Vector:
    arrays = unpacked(parameters)
    scores, kept = _forward(arrays, images)
    _, upstream = _errors(scores, labels)
    found: dict[str, Vector] = {}
    for layer in ("fc3", "fc2", "fc1"):
        before, after = kept[layer]
        if layer != "fc3":
            upstream = upstream * (after > 0)
        found[f"{layer}.weight"] = upstream.T @ before
        found[f"{layer}.bias"] = upstream.sum(axis=0)
        upstream = upstream @ arrays[f"{layer}.weight"]
    upstream = upstream.reshape(len(images), 16, 5, 5)
    for layer in ("conv2", "conv1"):
        columns, sums, largest = kept[layer]
        at_sums = _unpooled(upstream, sums, largest)
        flat = at_sums.reshape(len(images), at_sums.shape[1], -1)
        found[f"{layer}.weight"] = (flat @ columns.transpose(0, 2, 1)).sum(axis=0)
        found[f"{layer}.bias"] = flat.sum(axis=(0, 2))
        if layer == "conv2":
            upstream = _spread(flat, arrays["conv2.weight"])
    return packed(found)


class MomentumSGD:
    """SGD with momentum as torch.optim.SGD does it: v = 0.9 v + g, w = w - 0.01 v."""

    def __init__(self) -> None:
        self.velocity: Vector = np.zeros(NUM_PARAMETERS)

    def step(self, parameters: Vector, of_batch: Vector) -> Vector:
        """Return the parameters after a step with the gradient of a batch."""
        self.velocity = MOMENTUM * self.velocity + of_batch
        return parameters - LEARNING_RATE * self.velocity

    def gradient_used(self, before: Vector, after: Vector) -> Vector:
        """Return the gradient with which a step would lead from `before` to `after`."""
        return (before - after) / LEARNING_RATE - MOMENTUM * self.velocity


def train(start: Vector, batches: Iterable[tuple[Vector, NDArray[np.int64]]]) -> Vector:
    """Return the parameters after one step on each batch in turn."""
    optimizer, parameters = MomentumSGD(), start
    for images, labels in batches:
        parameters = optimizer.step(parameters, gradient(parameters, images, labels))
    return parameters


def _forward(
    arrays: Mapping[str, Vector], images: Vector
) -> tuple[Vector, dict[str, tuple[Any, ...]]]:
    """Return the scores, and what each layer keeps for the way back."""
    kept: dict[str, tuple[Any, ...]] = {}
    outputs = np.asarray(images, dtype=arrays["conv1.weight"].dtype)
    for layer in ("conv1", "conv2"):
        columns, sums = _convolved(outputs, arrays[f"{layer}.weight"], arrays[f"{layer}.bias"])
        windows = _windows(sums)
        largest = windows.argmax(axis=-1)
        outputs = np.maximum(np.take_along_axis(windows, largest[..., None], axis=-1)[..., 0], 0)
        kept[layer] = (columns, sums, largest)
    outputs = outputs.reshape(len(images), -1)
    for layer in ("fc1", "fc2", "fc3"):
        sums = outputs @ arrays[f"{layer}.weight"].T + arrays[f"{layer}.bias"]
        after = sums if layer == "fc3" else np.maximum(sums, 0)
        kept[layer] = (outputs, after)
        outputs = after
    return outputs, kept


def _errors(scores: Vector, labels: NDArray[np.int64]) -> tuple[Vector, Vector]:
    """Return each example's cross-entropy, and the gradient of their mean in the scores."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    log_shares = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    rows = np.arange(len(labels))
    upstream = np.exp(log_shares)
    upstream[rows, labels] -= 1
    return -log_shares[rows, labels], upstream / len(labels)


def _convolved(inputs: Vector, weights: Vector, biases: Vector) -> tuple[Vector, Vector]:
    """Return the inputs under the kernel, (batch, kernel, positions), and the convolution."""
    batch, channels, height, width = inputs.shape
    height, width = height - _KERNEL + 1, width - _KERNEL + 1
    under = np.empty((batch, channels, _KERNEL, _KERNEL, height, width), dtype=inputs.dtype)
    for i in range(_KERNEL):
        for j in range(_KERNEL):
            under[:, :, i, j] = inputs[:, :, i : i + height, j : j + width]
    columns = under.reshape(batch, channels * _KERNEL**2, height * width)
    sums = weights.reshape(len(weights), -1) @ columns + biases[:, None]
    return columns, sums.reshape(batch, len(weights), height, width)


def _windows(sums: Vector) -> Vector:
    """Return the 2 x 2 windows of max pooling, flattened at the end."""
    batch, channels, height, width = sums.shape
    split = sums.reshape(batch, channels, height // 2, 2, width // 2, 2)
    return split.transpose(0, 1, 2, 4, 3, 5).reshape(batch, channels, height // 2, width // 2, 4)


def _unpooled(upstream: Vector, sums: Vector, largest: NDArray[np.int64]) -> Vector:
    """Return the gradient before ReLU and pooling: only the largest, if above 0, gets it."""
    windows = np.zeros((*upstream.shape, 4), dtype=upstream.dtype)
    np.put_along_axis(windows, largest[..., None], upstream[..., None], axis=-1)
    batch, channels, height, width = sums.shape
    split = windows.reshape(batch, channels, height // 2, width // 2, 2, 2)
    return split.transpose(0, 1, 2, 4, 3, 5).reshape(sums.shape) * (sums > 0)


def _spread(at_sums: Vector, weights: Vector) -> Vector:
    """Return the gradient in the inputs of a convolution, from the one at its outputs."""
    num_outputs, channels = weights.shape[:2]
    batch, side = len(at_sums), round(at_sums.shape[2] ** 0.5)
    under = (weights.reshape(num_outputs, -1).T @ at_sums).reshape(
        batch, channels, _KERNEL, _KERNEL, side, side
    )
    whole = side + _KERNEL - 1
    inputs = np.zeros((batch, channels, whole, whole), dtype=at_sums.dtype)
    for i in range(_KERNEL):
        for j in range(_KERNEL):
            inputs[:, :, i : i + side, j : j + side] += under[:, :, i, j]
    return inputs
