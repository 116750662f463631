"""The oracle's network: Net of the support files, with its gradient.

Parameters travel as one packed vector, arrays in the order of the state dict. All is computed in
the floating-point type of the parameters.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from grader.oracles import (
    conv2d,
    flatten,
    layer,
    linear,
    loss_and_gradient,
    max_pool2d,
    num_elements,
    packed,
    relu,
    unpacked,
)

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
NUM_PARAMETERS = num_elements(SHAPES)
FLOAT32_NUM_BYTES = 4
MODEL_NUM_BYTES = NUM_PARAMETERS * FLOAT32_NUM_BYTES
IMAGE_NUM_BYTES = 3 * 32 * 32 * FLOAT32_NUM_BYTES

LEARNING_RATE = 0.01
MOMENTUM = 0.9

_LAYERS = (
    layer(conv2d, "conv1.weight", "conv1.bias", is_first=True),
    layer(relu),
    layer(max_pool2d, size=2),
    layer(conv2d, "conv2.weight", "conv2.bias"),
    layer(relu),
    layer(max_pool2d, size=2),
    layer(flatten),
    layer(linear, "fc1.weight", "fc1.bias"),
    layer(relu),
    layer(linear, "fc2.weight", "fc2.bias"),
    layer(relu),
    layer(linear, "fc3.weight", "fc3.bias"),
)
_CHUNK = 10
"""Examples whose gradient is computed at once."""


def gradient(parameters: Vector, images: Vector, labels: NDArray[np.int64]) -> Vector:
    """Return the packed gradient of the mean cross-entropy; images: (batch, 3, 32, 32)."""
    arrays, total = unpacked(parameters, SHAPES), np.zeros_like(parameters)
    # Few at a time: what fits into a cache is computed three times as fast.
    for begin in range(0, len(labels), _CHUNK):
        some = slice(begin, begin + _CHUNK)
        share = parameters.dtype.type(len(labels[some]) / len(labels))
        _, found = loss_and_gradient(_LAYERS, arrays, images[some], labels[some])
        total += share * packed(found, SHAPES)
    return total
