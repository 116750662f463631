"""VGG-11 with batch normalization in numpy: forwards, and the gradient backwards through it.

Written apart from the support file; it computes in the precision of its parameters. In here, images
are (batch, height, width, channels); parameters keep the names and shapes that torch gives them.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.floating[Any]]
Parameters = Mapping[str, Values]

NUM_CLASSES = 10

_GROUPS = ((1,), (2,), (4, 4), (8, 8), (8, 8))
"""Channels of each convolution as multiples of the first one's; a max pool ends each group."""

_BATCH_NORM_EPSILON = 1e-5


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


def loss_and_gradient(
    parameters: Parameters, images: NDArray[Any], labels: NDArray[np.int64]
) -> tuple[float, dict[str, Values]]:
    """Return the mean cross entropy of a batch, and its gradient by parameter name.

    images: (batch, 3, 32, 32); labels: (batch,). Batch normalization takes its statistics from
    this very batch.
    """
    values = images.transpose(0, 2, 3, 1).astype(parameters["classifier.bias"].dtype)
    backwards = []
    position = 0
    for group in _GROUPS:
        for _ in group:
            for name, layer in (
                (f"features.{position}", _convolution),
                (f"features.{position + 1}", _batch_norm),
                (f"features.{position + 2}", _relu),
            ):
                values, backward = layer(values, name, parameters)
                backwards.append(backward)
            position += 3
        values, backward = _max_pool(values)
        backwards.append(backward)
        position += 1
    features = values.reshape(len(values), -1)
    scores = features @ parameters["classifier.weight"].T + parameters["classifier.bias"]
    loss, at_scores = _cross_entropy(scores, labels)

    gradient = {
        "classifier.weight": at_scores.T @ features,
        "classifier.bias": at_scores.sum(axis=0),
    }
    upstream = (at_scores @ parameters["classifier.weight"]).reshape(values.shape)
    for backward in reversed(backwards):
        upstream, of_layer = backward(upstream)
        gradient |= of_layer
    return loss, gradient


def _convolution(values: Values, name: str, parameters: Parameters) -> Any:
    """Convolve with 3 x 3 kernels, zeros around the image: one matrix product per kernel place."""
    weight = parameters[f"{name}.weight"].transpose(2, 3, 1, 0)  # (row, column, from, to)
    _, height, width, _ = values.shape
    padded = np.pad(values, ((0, 0), (1, 1), (1, 1), (0, 0)))
    places = [(i, j) for i in range(3) for j in range(3)]
    found = sum(padded[:, i : i + height, j : j + width] @ weight[i, j] for i, j in places)

    def backward(upstream: Values) -> tuple[Values, dict[str, Values]]:
        at_padded = np.zeros_like(padded)
        at_weight = np.empty_like(weight)
        for i, j in places:
            seen = padded[:, i : i + height, j : j + width]
            # Row by row: one large product would be shared out to threads, which costs more here.
            at_weight[i, j] = (seen.swapaxes(2, 3) @ upstream).sum(axis=(0, 1))
            at_padded[:, i : i + height, j : j + width] += upstream @ weight[i, j].T
        return at_padded[:, 1:-1, 1:-1], {f"{name}.weight": at_weight.transpose(3, 2, 0, 1)}

    return found, backward


def _batch_norm(values: Values, name: str, parameters: Parameters) -> Any:
    """Normalize each channel to mean 0 and variance 1 over the batch, then scale and shift it.

    Backwards as in Ioffe and Szegedy (2015), section 3, with the sums put together.
    """
    axes = (0, 1, 2)
    scale = parameters[f"{name}.weight"]
    deviation = np.sqrt(values.var(axis=axes) + _BATCH_NORM_EPSILON)
    normal = (values - values.mean(axis=axes)) / deviation
    found = scale * normal + parameters[f"{name}.bias"]

    def backward(upstream: Values) -> tuple[Values, dict[str, Values]]:
        at_scale = (upstream * normal).sum(axis=axes)
        at_shift = upstream.sum(axis=axes)
        count = upstream.size / upstream.shape[-1]
        centred = upstream - (at_shift + normal * at_scale) / count
        return scale / deviation * centred, {f"{name}.weight": at_scale, f"{name}.bias": at_shift}

    return found, backward


def _relu(values: Values, name: str, parameters: Parameters) -> Any:
    passes = values > 0
    return values * passes, lambda upstream: (upstream * passes, {})


def _max_pool(values: Values) -> Any:
    """Keep the greatest of every 2 x 2 pixels; of equal ones, the first by rows."""
    batch, height, width, channels = values.shape
    tiles = values.reshape(batch, height // 2, 2, width // 2, 2, channels)
    flat = tiles.transpose(0, 1, 3, 5, 2, 4).reshape(batch, height // 2, width // 2, channels, 4)
    chosen = flat.argmax(axis=-1)[..., np.newaxis]

    def backward(upstream: Values) -> tuple[Values, dict[str, Values]]:
        spread = np.zeros_like(flat)
        np.put_along_axis(spread, chosen, upstream[..., np.newaxis], axis=-1)
        apart = spread.reshape(*flat.shape[:-1], 2, 2).transpose(0, 1, 4, 2, 5, 3)
        return apart.reshape(values.shape), {}

    return np.take_along_axis(flat, chosen, axis=-1)[..., 0], backward


def _cross_entropy(scores: Values, labels: NDArray[np.int64]) -> tuple[float, Values]:
    shifted = scores - scores.max(axis=1, keepdims=True)
    log_sums = np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    log_probabilities = shifted - log_sums
    rows = np.arange(len(labels))
    at_scores = np.exp(log_probabilities)
    at_scores[rows, labels] -= 1
    return float(-log_probabilities[rows, labels].mean()), at_scores / len(labels)
