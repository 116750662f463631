"""The oracle of the training: LeNet-5 in float64, one process, written apart from torch.

Parameters travel as one packed vector in the order of `SHAPES`, which is that of the model's
parameters(): weights before biases, layer by layer.
"""

from math import prod

import numpy as np
from numpy.typing import NDArray

from grader.oracles import (
    SGD,
    avg_pool2d,
    conv2d,
    element_name,
    flatten,
    layer,
    linear,
    loss_and_gradient,
    num_elements,
    packed,
    slices,
    tanh,
    unpacked,
)

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
NUM_PARAMETERS = num_elements(SHAPES)

SLICES = slices(SHAPES)
"""Where each parameter lies in a packed vector."""

_LAYERS = (
    layer(conv2d, "c1.weight", "c1.bias", padding=2, is_first=True),
    layer(tanh),
    layer(avg_pool2d, size=2),
    layer(conv2d, "c3.weight", "c3.bias"),
    layer(tanh),
    layer(avg_pool2d, size=2),
    layer(conv2d, "c5.weight", "c5.bias"),
    layer(tanh),
    layer(flatten),
    layer(linear, "f6.weight", "f6.bias"),
    layer(tanh),
    layer(linear, "output.weight", "output.bias"),
)


def name_at(index: int) -> str:
    """Return how a student knows one element of a packed vector, such as `c3.bias[7]`."""
    return element_name(index, SHAPES)


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
    images = pixels[:, np.newaxis] / 255
    _, found = loss_and_gradient(_LAYERS, unpacked(parameters, SHAPES), images, labels)
    return packed(found, SHAPES)


def train(
    start: NDArray[np.float32], pixels: Vector, labels: NDArray[np.int64], learning_rate: float
) -> Vector:
    """Return the packed parameters after every epoch of one full-batch step: a row an epoch.

    pixels: (epochs, batch, 28, 28). labels: (epochs, batch).
    """
    sgd, parameters, rows = SGD(learning_rate), start.astype(np.float64), []
    for images, classes in zip(pixels, labels, strict=True):
        parameters, _ = sgd.step(parameters, gradient(parameters, images, classes))
        rows.append(parameters)
    return np.array(rows)
