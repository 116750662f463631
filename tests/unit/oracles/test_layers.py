"""Linear layers, batch normalization and activations give what torch gives, both ways."""

import numpy as np
import pytest
import torch
from against_torch import DTYPES, assert_same_as_torch, normal
from torch.nn import functional

from grader.oracles import batch_norm, flatten, linear, relu, sigmoid, softmax, tanh


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize(("batch", "features", "outputs"), [(5, 7, 3), (1, 4, 6), (0, 2, 3)])
def test_linear(batch, features, outputs, has_bias, dtype):
    shapes = [(batch, features), (outputs, features), (outputs,)][: 3 if has_bias else 2]
    assert_same_as_torch(linear, functional.linear, normal(*shapes, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(6, 3), (4, 2, 5, 3), (1, 3, 4, 4), (5, 2, 7)])
def test_batch_norm(shape, dtype):
    """Of features, of images, of one image alone and of signals, with statistics of the batch."""
    inputs, weight, bias = normal(shape, shape[1:2], shape[1:2], dtype=dtype)
    assert_same_as_torch(
        batch_norm,
        lambda values, *scales: functional.batch_norm(values, None, None, *scales, training=True),
        [inputs + 2, weight, bias],
    )


def test_the_epsilon_of_batch_norm_is_added_to_the_variance():
    """Where the variance is small, it decides."""
    arrays = [each * scale for each, scale in zip(normal((4, 2), 2, 2), (1e-3, 1, 1), strict=True)]
    assert_same_as_torch(
        lambda *each: batch_norm(*each, epsilon=1e-3),
        lambda values, *scales: functional.batch_norm(
            values, None, None, *scales, training=True, eps=1e-3
        ),
        arrays,
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 4, 5), (1, 1)])
@pytest.mark.parametrize(
    ("function", "torchs"),
    [
        (relu, functional.relu),
        (tanh, torch.tanh),
        (sigmoid, torch.sigmoid),
        (flatten, lambda values: torch.flatten(values, 1)),
    ],
    ids=["relu", "tanh", "sigmoid", "flatten"],
)
def test_layers_without_parameters(function, torchs, shape, dtype):
    """At 0, too, where relu has a corner."""
    (values,) = normal(shape, dtype=dtype)
    values[0, 0] = 0
    assert_same_as_torch(function, torchs, [values])


@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax(dtype):
    assert_same_as_torch(
        softmax, lambda scores: functional.softmax(scores, 1), normal((4, 5), dtype=dtype)
    )


@pytest.mark.filterwarnings("error")
def test_large_numbers_do_not_overflow():
    """A thousand is more than exp can take."""
    values = np.array([[1000.0, -1000.0, 0.0]])
    np.testing.assert_array_equal(sigmoid(values)[0], [[1, 0, 0.5]])
    np.testing.assert_array_equal(softmax(values)[0], [[1, 0, 0]])
    np.testing.assert_array_equal(tanh(values)[0], [[1, -1, 0]])


def test_a_batch_of_none_is_flattened():
    outputs, backward = flatten(np.zeros((0, 3, 4)))
    assert outputs.shape == (0, 12)
    assert backward(outputs)[0].shape == (0, 3, 4)


FEATURES, WEIGHT = normal((4, 3), (2, 3))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: linear(np.zeros((4, 3, 1)), WEIGHT),
            r"linear, inputs: found shape \(4, 3, 1\); expected \(batch, features\) \(flatten\(\)",
        ),
        (lambda: linear(np.zeros((4, 3), int), WEIGHT), "linear, inputs: found int64"),
        (
            lambda: linear(FEATURES, WEIGHT.T),
            r"linear, weight: found shape \(3, 2\); expected \(outputs, 3\)",
        ),
        (
            lambda: linear(FEATURES, WEIGHT, np.zeros(3)),
            r"linear, bias: found shape \(3,\); expected \(2,\)",
        ),
        (
            lambda: batch_norm(np.zeros(4), WEIGHT, WEIGHT),
            r"batch_norm, inputs: found shape \(4,\)",
        ),
        (
            lambda: batch_norm(np.zeros((2, 3), int), WEIGHT, WEIGHT),
            "batch_norm, inputs: found int64",
        ),
        (
            lambda: batch_norm(FEATURES, np.ones(4), np.ones(3)),
            r"batch_norm, weight: found shape \(4,\); expected \(3,\)",
        ),
        (
            lambda: batch_norm(FEATURES, np.ones(3), np.ones(1)),
            r"batch_norm, bias: found shape \(1,\); expected \(3,\)",
        ),
        (
            lambda: softmax(np.zeros(3)),
            r"softmax, inputs: found shape \(3,\); expected \(batch, classes\)",
        ),
    ],
)
def test_what_does_not_fit_is_said(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@pytest.mark.parametrize(
    "layer",
    [
        lambda values: linear(values, WEIGHT),
        lambda values: batch_norm(values, np.ones(3), np.ones(3)),
        *(flatten, relu, tanh, sigmoid, softmax),
    ],
)
def test_a_gradient_of_another_shape_is_refused(layer):
    """One that would broadcast, too."""
    _, backward = layer(FEATURES)
    with pytest.raises(ValueError, match=r"backward: found shape \(4, 1\); expected \(4, [23]\)"):
        backward(np.ones((4, 1)))
