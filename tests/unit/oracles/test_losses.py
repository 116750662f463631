"""Losses are those of torch, and so are their gradients."""

import numpy as np
import pytest
import torch
from against_torch import DTYPES, TOLERANCE, normal
from torch.nn import functional

from grader.oracles import cross_entropy, half_squared_error

LABELS = np.array([0, 3, 2, 3])


def assert_same_loss(found, torchs, outputs):
    """Assert that a loss and its gradient at the outputs are those of torch."""
    tensor = torch.from_numpy(outputs.copy()).requires_grad_()
    expected = torchs(tensor)
    expected.backward()
    loss, at_outputs = found
    tolerance = TOLERANCE[outputs.dtype.name]
    assert isinstance(loss, float)
    assert loss == pytest.approx(float(expected.detach()), rel=tolerance)
    assert at_outputs.dtype == outputs.dtype
    np.testing.assert_allclose(at_outputs, tensor.grad.numpy(), rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [1, 100])
def test_cross_entropy(scale, dtype):
    """Also of scores whose probabilities underflow."""
    (scores,) = normal((4, 5), dtype=dtype)
    scores *= np.dtype(dtype).type(scale)
    assert_same_loss(
        cross_entropy(scores, LABELS),
        lambda tensor: functional.cross_entropy(tensor, torch.from_numpy(LABELS)),
        scores,
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_half_squared_error(dtype):
    outputs, targets = normal((4, 5), (4, 5), dtype=dtype)
    assert_same_loss(
        half_squared_error(outputs, targets),
        lambda tensor: ((tensor - torch.from_numpy(targets)) ** 2).sum() / 2,
        outputs,
    )


@pytest.mark.filterwarnings("error")
def test_of_no_examples_loss_and_gradient_are_zero():
    """A rank may have no example of a batch."""
    loss, at_scores = cross_entropy(np.zeros((0, 5)), np.zeros(0, np.int64))
    assert (loss, at_scores.shape) == (0, (0, 5))


SCORES = normal((4, 5))[0]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: cross_entropy(SCORES[0], LABELS), r"scores: found shape \(5,\); expected \(batch"),
        (lambda: cross_entropy(SCORES.astype(int), LABELS), "cross_entropy, scores: found int64"),
        (lambda: cross_entropy(SCORES, LABELS[:3]), r"labels: found shape \(3,\); expected \(4,\)"),
        (lambda: cross_entropy(SCORES, LABELS[:, None]), r"labels: found shape \(4, 1\)"),
        (lambda: cross_entropy(SCORES, LABELS * 1.0), "found float64; expected whole numbers"),
        (lambda: cross_entropy(SCORES, LABELS + 2), "labels: found 2 to 5; expected 0 to 4"),
        (lambda: cross_entropy(SCORES, LABELS - 1), "labels: found -1 to 2; expected 0 to 4"),
        (
            lambda: half_squared_error(SCORES, SCORES[0]),
            r"targets: found shape \(5,\); expected \(",
        ),
        (lambda: half_squared_error(LABELS, LABELS), "half_squared_error, outputs: found int64"),
    ],
)
def test_what_does_not_fit_is_said(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
