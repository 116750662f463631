"""Losses of a batch, each with its gradient at the outputs of the network."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.oracles.arrays import Labels, Values, assert_floating, assert_shape


def cross_entropy(scores: Values, labels: Labels) -> tuple[float, Values]:
    """Return the mean of -log softmax(scores)[label], and its gradient at the scores.

    scores: (batch, classes), before any softmax. labels: (batch,), whole numbers from 0 to one less
    than the number of classes. torch.nn.CrossEntropyLoss(); but of no examples, loss and gradient
    are 0. Raises ValueError for shapes and labels that do not fit.
    """
    assert_shape(
        "cross_entropy, scores", scores, ("batch", "classes"), "there is a row for each example"
    )
    assert_floating("cross_entropy, scores", scores)
    assert_shape(
        "cross_entropy, labels", labels, scores.shape[:1], "there is a label for each example"
    )
    is_label = labels[:, np.newaxis] == np.arange(scores.shape[1])
    _assert_labels(labels, is_label)
    shifted = scores - scores.max(axis=1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    number = max(len(labels), 1)
    at_scores = (np.exp(log_probabilities) - is_label) / number
    return float(-log_probabilities[is_label].sum() / number), at_scores


def half_squared_error(outputs: Values, targets: Values) -> tuple[float, Values]:
    """Return half the squared distance of outputs from targets, and its gradient at the outputs.

    outputs, targets: of one shape. It is summed over the batch, not averaged (Rumelhart, Hinton and
    Williams 1986). Raises ValueError for shapes that differ.
    """
    assert_floating("half_squared_error, outputs", outputs)
    assert_shape(
        "half_squared_error, targets", targets, outputs.shape, "there is one for each output"
    )
    at_outputs = outputs - targets
    return float(0.5 * np.sum(at_outputs**2)), at_outputs


def _assert_labels(labels: NDArray[Any], is_label: NDArray[np.bool_]) -> None:
    """Assert that labels are whole numbers, and that each is a class."""
    if labels.dtype.kind not in "iu":
        raise ValueError(
            f"cross_entropy, labels: found {labels.dtype}, expected whole numbers; of one-hot rows "
            "they are rows.argmax(axis=1)"
        )
    if np.count_nonzero(is_label) != len(labels):
        raise ValueError(
            f"cross_entropy, labels: found {labels.min()} to {labels.max()}, expected 0 to "
            f"{is_label.shape[1] - 1}; classes count from 0, one for each column of the scores"
        )
