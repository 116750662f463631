"""Computes a network's output again, from its parameters and the shapes of its layers.

Which layers ran is what a rank says; that they ran shows in numbers that follow from them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .layers import CONVOLUTION, LINEAR, MAX_POOL, RELU, SOFTMAX, Layer

Floats = np.ndarray[Any, Any]


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
            raise NotRecomputable(f"{layer.name} gives the shape {shape}")
        if layer.name == CONVOLUTION:
            values = _convolution(values, shape, unused)
        elif layer.name == MAX_POOL:
            values = _max_pool(values, shape)
        elif layer.name == RELU:
            values = np.maximum(values, 0)
        elif layer.name == LINEAR:
            values = _linear(values.reshape(len(values), -1), shape, unused)
        elif layer.name == SOFTMAX:
            powers = np.exp(values - values.max(axis=1, keepdims=True))
            values = powers / powers.sum(axis=1, keepdims=True)
        if values.shape != shape:
            raise NotRecomputable(f"{layer.name} gives {values.shape}, said to be {shape}")
    return values


def _convolution(values: Floats, shape: tuple[int, ...], unused: list[Floats]) -> Floats:
    weights = _take(unused, lambda each: each.ndim == 4 and each.shape[1] == values.shape[1])
    size = weights.shape[2]
    padding, odd = divmod(shape[2] - values.shape[2] + size - 1, 2)
    if odd or padding < 0 or padding >= size:
        raise NotRecomputable("a convolution has another stride than 1")
    edges = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(values, edges), weights.shape[2:], axis=(2, 3)
    )
    return np.einsum("ncyxab,kcab->nkyx", windows, weights) + _bias(unused, len(weights)).reshape(
        1, -1, 1, 1
    )


def _max_pool(values: Floats, shape: tuple[int, ...]) -> Floats:
    if len(shape) != 4 or values.ndim != 4 or 0 in shape:
        raise NotRecomputable("a pool is not over images")
    size = values.shape[2] // shape[2]
    n, channels, height, width = shape
    if not size or (values.shape[2] // size, values.shape[3] // size) != (height, width):
        raise NotRecomputable("a pool overlaps, or leaves gaps")
    kept = values[:, :, : height * size, : width * size]
    return kept.reshape(n, channels, height, size, width, size).max(axis=(3, 5))


def _linear(values: Floats, shape: tuple[int, ...], unused: list[Floats]) -> Floats:
    size = {values.shape[1], shape[1]}
    weights = _take(unused, lambda each: each.ndim == 2 and set(each.shape) == size)
    if weights.shape != (shape[1], values.shape[1]):
        weights = weights.T
    return values @ weights.T + _bias(unused, shape[1])


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
    raise NotRecomputable("a layer has no parameters of its shape")
