"""The oracle of a training: VGG-11 with batch normalization, and the steps that are asked for.

Parameters travel as one packed vector, in the order in which torch names them.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import oracles
from grader.oracles import (
    SGD,
    Layer,
    Values,
    batch_norm,
    conv2d,
    flatten,
    layer,
    linear,
    loss_and_gradient,
    max_pool2d,
    num_elements,
    packed,
    relu,
)

NUM_CLASSES = 10

OPTIMIZER = SGD(learning_rate=0.1, momentum=0.9, weight_decay=1e-4)

_GROUPS = ((1,), (2,), (4, 4), (8, 8), (8, 8))
"""Channels of each convolution as multiples of the first one's; a max pool ends each group."""


@cache
def shapes(first_channels: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of every parameter by its name, in the order of `named_parameters`."""
    found: dict[str, tuple[int, ...]] = {}
    position, channels = 0, 3
    for group in _GROUPS:
        for multiple in group:
            before, channels = channels, multiple * first_channels
            found[f"features.{position}.weight"] = (channels, before, 3, 3)
            found[f"features.{position + 1}.weight"] = (channels,)
            found[f"features.{position + 1}.bias"] = (channels,)
            position += 3
        position += 1
    found["classifier.weight"] = (NUM_CLASSES, channels)
    found["classifier.bias"] = (NUM_CLASSES,)
    return found


def num_parameters(first_channels: int) -> int:
    """Return how many numbers a packed vector has."""
    return num_elements(shapes(first_channels))


def channels_last(first_channels: int) -> NDArray[np.intp]:
    """Return the order of a packed vector whose arrays are in torch.channels_last."""
    places = np.arange(num_parameters(first_channels))
    arrays = unpacked(places, first_channels).values()
    last = [each.transpose(0, 2, 3, 1) if each.ndim == 4 else each for each in arrays]
    return np.concatenate([each.ravel() for each in last])


def unpacked(vector: NDArray[Any], first_channels: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of a packed vector by the names torch gives them."""
    return oracles.unpacked(vector, shapes(first_channels))


def gradient(
    parameters: Values, images: NDArray[Any], labels: NDArray[np.int64], first_channels: int
) -> Values:
    """Return the packed gradient of the mean cross entropy of a batch.

    images: (batch, 3, 32, 32); labels: (batch,). Batch normalization takes its statistics from
    this very batch.
    """
    named = unpacked(parameters, first_channels)
    _, found = loss_and_gradient(_layers(), named, images, labels)
    return packed(found, shapes(first_channels))


def ends_of_steps(
    start: NDArray[Any],
    reached: NDArray[Any],
    gradients: NDArray[Any],
    sgd: SGD = OPTIMIZER,
    *,
    is_late: bool = False,
) -> list[Values]:
    """Return where each step of SGD ends that begins where the one before it has ended.

    start: packed parameters before all steps. reached: after each step, as they were seen, so that
    roundings do not add up. gradients: one for each step. is_late: other steps came before, so
    that the first step ends where it was seen to, and its length tells the velocity.
    """
    ends: list[Values] = []
    velocity: Values | float = 0.0
    before = [start, *reached][: len(gradients)]
    if is_late:
        ends = [reached[0].astype(np.float64)]
        velocity = (start - ends[0]) / sgd.learning_rate
    pairs = list(zip(before, gradients.astype(np.float64), strict=True))
    for parameters, of_step in pairs[len(ends) :]:
        end, velocity = sgd.step(parameters.astype(np.float64), of_step, velocity)
        ends.append(end)
    return ends


def _layers() -> list[Layer]:
    found: list[Layer] = []
    position = 0
    for group in _GROUPS:
        for _ in group:
            conv, norm = (f"features.{position + i}" for i in (0, 1))
            found.append(layer(conv2d, f"{conv}.weight", padding=1, is_first=not found))
            found.append(layer(batch_norm, f"{norm}.weight", f"{norm}.bias"))
            found.append(layer(relu))
            position += 3
        found.append(layer(max_pool2d, size=2))
        position += 1
    return [*found, layer(flatten), layer(linear, "classifier.weight", "classifier.bias")]
