"""Computes a network's output again, from its parameters and the shapes of its layers.

Which layers ran is what a rank says; that they ran shows in numbers that follow from them.
"""

import math
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
    Raises NotRecomputable where layers do not fit together, and for windows that are not square.
    """
    unused = [np.asarray(each, np.float64) for each in parameters]
    values = np.asarray(images, np.float64)
    for layer in found:
        shape = layer.shape
        if len(shape) < 2 or shape[0] != len(images):
            raise NotRecomputable(
                f"the output of {layer.name} has shape {shape}, without a row for each image"
            )
        if layer.name == CONVOLUTION:
            values = _convolution(values, layer, unused)
        elif layer.name == MAX_POOL:
            values = _max_pool(values, layer)
        elif layer.name == RELU:
            values, _ = oracles.relu(values)
        elif layer.name == LINEAR:
            values = _linear(values.reshape(len(values), -1), shape, unused)
        elif layer.name == SOFTMAX:
            values = _softmax(values, layer)
        if values.shape != shape:
            raise NotRecomputable(
                f"the output of {layer.name} has shape {values.shape}, but the record says {shape}"
            )
    return values


def _convolution(values: Floats, layer: Layer, unused: list[Floats]) -> Floats:
    weights = _take(unused, lambda each: each.ndim == 4 and each.shape[1] == values.shape[1])
    stride, padding, apart = (
        layer.settings.get(name, 0) for name in ("stride", "padding", "dilation")
    )
    size = (weights.shape[2] - 1) * apart + 1
    if min(stride, apart) < 1 or not 0 <= padding < size or len(layer.shape) != 4:
        raise NotRecomputable("the windows of a convolution are unknown")
    num_places = len(values) * layer.shape[2] * (values.shape[3] + 2 * padding)
    numbers = (weights.size, weights[0].size * num_places, len(weights) * num_places)
    largest = max(numbers) * apart**2
    if size > values.shape[2] + 2 * padding or largest > _MOST_NUMBERS:
        raise NotRecomputable("a convolution is too large")
    kernels = np.zeros((*weights.shape[:2], size, (weights.shape[3] - 1) * apart + 1))
    kernels[:, :, ::apart, ::apart] = weights
    bias = _bias(unused, len(weights))
    outputs, _ = oracles.conv2d(values, kernels, bias, stride=stride, padding=padding)
    return outputs


def _max_pool(values: Floats, layer: Layer) -> Floats:
    shape, settings = layer.shape, layer.settings
    if len(shape) != 4 or values.ndim != 4 or 0 in shape:
        raise NotRecomputable("the input or output of a pooling layer is not a batch of images")
    # An adaptive pool names no windows.
    size = settings.get("kernel_size", values.shape[2] // shape[2])
    stride, padding = settings.get("stride", size), settings.get("padding", 0)
    ends = [(number - 1) * stride + size - padding for number in shape[2:]]
    over = [end - length for end, length in zip(ends, values.shape[2:], strict=True)]
    if (
        min(size, stride) < 1
        or not 0 <= padding <= size / 2 <= min(values.shape[2:])
        or size**2 * math.prod(shape) > _MOST_NUMBERS
        or settings.get("dilation", 1) != 1
        or max(map(abs, over)) >= stride + padding
    ):
        raise NotRecomputable("the windows of a pooling layer leave gaps, or lie outside of images")
    # As far as the last window goes: with ceil_mode it may end outside of the image.
    edges = [(padding, max(each, 0)) for each in over]
    padded = np.pad(values, ((0, 0), (0, 0), *edges), constant_values=-np.inf)
    outputs, _ = oracles.max_pool2d(padded, size=size, stride=stride)
    return outputs[:, :, : shape[2], : shape[3]]


def _linear(values: Floats, shape: tuple[int, ...], unused: list[Floats]) -> Floats:
    size = {values.shape[1], shape[1]}
    weights = _take(unused, lambda each: each.ndim == 2 and set(each.shape) == size)
    if weights.shape != (shape[1], values.shape[1]):
        weights = weights.T
    outputs, _ = oracles.linear(values, weights, _bias(unused, shape[1]))
    return outputs


def _softmax(values: Floats, layer: Layer) -> Floats:
    rows = values.reshape(len(values), -1)
    if layer.settings.get("dim", -1) in (-1, 1):
        return oracles.softmax(rows)[0]
    # Over the images: a mistake, but the numbers follow from the layers.
    return oracles.softmax(rows.T)[0].T


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
