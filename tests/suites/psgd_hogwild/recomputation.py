"""Computes a network's output again, from its parameters and the shapes of its layers.

Which layers ran is what a rank says; that they ran shows in numbers that follow from them.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import oracles

from .layers import ASKED, CONVOLUTION, LINEAR, MAX_POOL, RELU, SOFTMAX, Layer

Floats = np.ndarray[Any, Any]

_MOST_NUMBERS = 1 << 24
_LONGEST_SIDE = 64
"""Of a window and of what an adaptive pool puts out."""
_MOST_LAYERS = 2 * len(ASKED)
"""All far more than the network that is asked for has, and little enough for the judge's memory and
time, whatever a rank makes up."""


class NotRecomputable(Exception):
    """The layers and parameters do not fit together in a way that is known here."""


class _Parameters:
    """A network's parameters, and which of them no layer has taken yet."""

    def __init__(self, parameters: Sequence[Floats]) -> None:
        self._all = [np.asarray(each, np.float64) for each in parameters]
        self._unused = [*self._all]

    def take(self, layer: Layer, fits: Callable[[Floats], bool]) -> tuple[Floats, Floats]:
        """Return weight and bias of a layer: those recorded, else the first unused ones that fit.

        The bias is zero where only a weight was recorded. Raises NotRecomputable.
        """
        weight = self._recorded(layer, "weight")
        is_recorded = weight is not None and fits(weight)
        if weight is None or not is_recorded:
            weight = self._first(fits)
        if weight is None:
            raise NotRecomputable("no unused parameter has the shape that a layer needs")
        length = layer.shape[1]
        bias = self._recorded(layer, "bias")
        bias = None if bias is None else bias.ravel()
        if bias is None and not is_recorded:
            bias = self._first(lambda each: each.shape == (length,))
        return weight, np.zeros(length) if bias is None or bias.shape != (length,) else bias

    def _recorded(self, layer: Layer, name: str) -> Floats | None:
        place = [*layer.settings.get(name, ())]
        return self._all[place[0]] if place and 0 <= place[0] < len(self._all) else None

    def _first(self, fits: Callable[[Floats], bool]) -> Floats | None:
        for index, each in enumerate(self._unused):
            if fits(each):
                return self._unused.pop(index)
        return None


def output_of(images: Floats, found: Sequence[Layer], parameters: Sequence[Floats]) -> Floats:
    """Return what layers of these shapes make of images (n, 1, height, width).

    parameters: in the order of the network; each layer takes those that were
    recorded, else the next ones that fit it.
    Raises NotRecomputable where layers do not fit together.
    """
    if len(found) > _MOST_LAYERS:
        raise NotRecomputable(f"{len(found)} layers ran; at most {_MOST_LAYERS} are computed again")
    unused = _Parameters(parameters)
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
            values = _linear(values.reshape(len(values), -1), layer, unused)
        elif layer.name == SOFTMAX:
            values = _softmax(values, layer)
        if values.shape != shape:
            raise NotRecomputable(
                f"the output of {layer.name} has shape {values.shape}, but the record says {shape}"
            )
    return values


def _convolution(values: Floats, layer: Layer, unused: _Parameters) -> Floats:
    if len(layer.shape) != 4 or values.ndim != 4:
        raise NotRecomputable("the input or output of a convolution is not a batch of images")
    weights, bias = unused.take(
        layer, lambda each: each.ndim == 4 and each.shape[1] == values.shape[1]
    )
    stride, padding, apart = (
        _pair(layer, name, default)
        for name, default in (("stride", 0), ("padding", -1), ("dilation", 0))
    )
    size = (np.array(weights.shape[2:]) - 1) * apart + 1
    if min(*stride, *apart) < 1 or max(size) > _LONGEST_SIDE:
        raise NotRecomputable("the windows of a convolution are unknown or too large")
    before = after = padding
    if (stride == 1).all():
        # As the shape says: images may have been padded before, and more on one side.
        over = np.array(layer.shape[2:]) + size - 1 - values.shape[2:]
        before, after = over // 2, over - over // 2
    padded_size = before + values.shape[2:] + after
    if min(before) < 0 or (padded_size < size).any():
        raise NotRecomputable("the windows of a convolution do not fit its input")
    num_places = len(values) * math.prod((padded_size - size + 1).tolist())
    numbers = (weights.size, weights[0].size * num_places, len(weights) * num_places)
    largest = max(numbers) * math.prod(apart.tolist())
    if (
        max(largest, values.shape[1] * len(values) * math.prod(padded_size.tolist()))
        > _MOST_NUMBERS
    ):
        raise NotRecomputable("a convolution is too large")
    kernels = np.zeros((*weights.shape[:2], *size))
    kernels[:, :, :: apart[0], :: apart[1]] = weights
    padded = np.pad(values, ((0, 0), (0, 0), *zip(before, after, strict=True)))
    outputs, _ = oracles.conv2d(padded, kernels, bias)
    return outputs[:, :, :: stride[0], :: stride[1]]


def _max_pool(values: Floats, layer: Layer) -> Floats:
    shape = layer.shape
    if len(shape) != 4 or values.ndim != 4 or 0 in shape:
        raise NotRecomputable("the input or output of a pooling layer is not a batch of images")
    if "kernel_size" not in layer.settings:
        return _adaptive_max_pool(values, shape[2:])
    length, size = np.array(values.shape[2:]), _pair(layer, "kernel_size", 0)
    stride, padding = _pair(layer, "stride", size), _pair(layer, "padding", 0)
    over = (np.array(shape[2:]) - 1) * stride + size - padding - length
    if (
        min(*size, *stride) < 1
        or (padding < 0).any()
        or (padding > size / 2).any()
        or max(size) > _LONGEST_SIDE
        or math.prod(size.tolist()) * math.prod(shape) > _MOST_NUMBERS
        or (_pair(layer, "dilation", 1) != 1).any()
        or (over <= padding - stride).any()
        or (over >= np.minimum(stride + padding, size)).any()
    ):
        raise NotRecomputable("the windows of a pooling layer leave gaps, or lie outside of images")
    # As far as the last window goes: with ceil_mode it may end outside of the image.
    edges = [(before, max(after, 0)) for before, after in zip(padding, over, strict=True)]
    padded = np.pad(values, ((0, 0), (0, 0), *edges), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, tuple(size), axis=(2, 3))
    outputs: Floats = windows[:, :, :: stride[0], :: stride[1]].max(axis=(-2, -1))
    return outputs[:, :, : shape[2], : shape[3]]


def _adaptive_max_pool(values: Floats, shape: Sequence[int]) -> Floats:
    length = values.shape[2:]
    if not all(few <= min(many, _LONGEST_SIDE) for few, many in zip(shape, length, strict=True)):
        raise NotRecomputable("a pooling layer makes images larger, or they are too large")
    rows, columns = (
        [slice(i * many // few, -(-(i + 1) * many // few)) for i in range(few)]
        for many, few in zip(length, shape, strict=True)
    )
    of_rows = [[values[:, :, y, x].max(axis=(2, 3)) for x in columns] for y in rows]
    return np.moveaxis(np.array(of_rows), (0, 1), (2, 3))


def _pair(layer: Layer, name: str, default: Any) -> NDArray[np.int64]:
    """Return a setting for rows and for columns."""
    found = np.ravel(layer.settings.get(name) or default)
    if len(found) > 2:
        raise NotRecomputable(f"{name} of {layer.name} has {len(found)} numbers")
    return np.broadcast_to(found, (2,))


def _linear(values: Floats, layer: Layer, unused: _Parameters) -> Floats:
    length = layer.shape[1]
    size = {values.shape[1], length}
    weights, bias = unused.take(layer, lambda each: each.ndim == 2 and set(each.shape) == size)
    if weights.shape != (length, values.shape[1]):
        weights = weights.T
    outputs, _ = oracles.linear(values, weights, bias)
    return outputs


def _softmax(values: Floats, layer: Layer) -> Floats:
    rows = values.reshape(len(values), -1)
    if [*layer.settings.get("dim", [-1])] in ([-1], [1]):
        return oracles.softmax(rows)[0]
    # Over the images: a mistake, but the numbers follow from the layers.
    return oracles.softmax(rows.T)[0].T
