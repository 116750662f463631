"""Computes a network's output again, from its parameters and the shapes of its layers.

Which layers ran is what a rank says; that they ran shows in numbers that follow from them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from grader import oracles

from .layers import CONVOLUTION, LINEAR, MAX_POOL, RELU, SOFTMAX, Layer

Floats = np.ndarray[Any, Any]

_MOST_NUMBERS = 1 << 24
"""What a convolution may look at, or put out: far more than the network that is asked for has, and
little enough for the judge's memory, whatever shapes a rank makes up."""


class NotRecomputable(Exception):
    """The layers and parameters do not fit together in a way that is known here."""


def output_of(images: Floats, found: Sequence[Layer], parameters: Sequence[Floats]) -> Floats:
    """Return what layers of these shapes make of images (n, 1, height, width).

    parameters: in the order of the network; each layer takes the next ones that fit it.
    Convolutions have a stride of 1, pools do not overlap. Raises NotRecomputable for anything else.
    """
    unused = [np.asarray(each, np.float64) for each in parameters]
    values = np.asarray(images, np.float64)
    for layer in found:
        shape = layer.shape
        if len(shape) < 2 or shape[0] != len(images):
            raise NotRecomputable(f"{layer.name} gave shape {shape}, not a row for each image")
        if layer.name == CONVOLUTION:
            values = _convolution(values, shape, unused)
        elif layer.name == MAX_POOL:
            values = _max_pool(values, shape)
        elif layer.name == RELU:
            values, _ = oracles.relu(values)
        elif layer.name == LINEAR:
            values = _linear(values.reshape(len(values), -1), shape, unused)
        elif layer.name == SOFTMAX:
            values, _ = oracles.softmax(values)
        if values.shape != shape:
            raise NotRecomputable(
                f"the output of {layer.name} has shape {values.shape}, but the record says {shape}"
            )
    return values


def _convolution(values: Floats, shape: tuple[int, ...], unused: list[Floats]) -> Floats:
    weights = _take(unused, lambda each: each.ndim == 4 and each.shape[1] == values.shape[1])
    size = weights.shape[2]
    padding, odd = divmod(shape[2] - values.shape[2] + size - 1, 2)
    if odd or padding < 0 or padding >= size:
        raise NotRecomputable("a convolution has a stride other than 1")
    num_places = len(values) * shape[2] * (values.shape[3] + 2 * padding)
    largest = max(weights[0].size, len(weights)) * num_places
    if size > values.shape[2] + 2 * padding or largest > _MOST_NUMBERS:
        raise NotRecomputable("a convolution is too large")
    outputs, _ = oracles.conv2d(values, weights, _bias(unused, len(weights)), padding=padding)
    return outputs


def _max_pool(values: Floats, shape: tuple[int, ...]) -> Floats:
    if len(shape) != 4 or values.ndim != 4 or 0 in shape:
        raise NotRecomputable("the input or output of a pooling layer is not a batch of images")
    size = values.shape[2] // shape[2]
    if not size or (values.shape[2] // size, values.shape[3] // size) != shape[2:]:
        raise NotRecomputable("the windows of a pooling layer overlap, or leave gaps")
    outputs, _ = oracles.max_pool2d(values, size=size)
    return outputs


def _linear(values: Floats, shape: tuple[int, ...], unused: list[Floats]) -> Floats:
    size = {values.shape[1], shape[1]}
    weights = _take(unused, lambda each: each.ndim == 2 and set(each.shape) == size)
    if weights.shape != (shape[1], values.shape[1]):
        weights = weights.T
    outputs, _ = oracles.linear(values, weights, _bias(unused, shape[1]))
    return outputs


def _bias(unused: list[Floats], length: int) -> Floats:
    try:
        return _take(unused, lambda each: each.shape == (length,))
    except NotRecomputable:
        return np.zeros(length)


def _take(unused: list[Floats], fits: Callable[[Floats], bool]) -> Floats:
    """Return the first parameter that fits, which is then used."""
    for index, each in enumerate(unused):
        if fits(each):
            return unused.pop(index)
    raise NotRecomputable("no unused parameter has the shape that a layer needs")
