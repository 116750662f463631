"""Convolution and pooling give what torch gives, forwards and backwards."""

import numpy as np
import pytest
from against_torch import DTYPES, assert_same_as_torch, normal
from torch.nn import functional

from grader.oracles import avg_pool2d, conv2d, max_pool2d


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize(
    ("images", "weight", "options"),
    [
        ((3, 2, 8, 8), (4, 2, 5, 5), {}),
        ((2, 3, 7, 9), (5, 3, 3, 3), {"padding": 1}),
        ((2, 1, 9, 8), (2, 1, 3, 2), {"stride": 2}),
        ((2, 2, 6, 7), (3, 2, 4, 1), {"stride": 3, "padding": 2}),
        ((1, 4, 5, 5), (2, 4, 5, 5), {}),
        ((4, 2, 3, 3), (3, 2, 1, 1), {"stride": 2}),
        ((0, 2, 8, 8), (4, 2, 5, 5), {}),
    ],
)
def test_convolution(images, weight, options, has_bias, dtype):
    """With strides, padding, kernels that are not square, and places that no window reaches."""
    arrays = normal(images, weight, *([weight[:1]] if has_bias else []), dtype=dtype)
    assert_same_as_torch(
        lambda *each: conv2d(*each, **options),
        lambda *each: functional.conv2d(*each, **options),
        arrays,
    )


@pytest.mark.parametrize("has_bias", [True, False])
def test_a_first_convolution_leaves_out_the_gradient_at_its_inputs(has_bias):
    """The others are the same."""
    arrays = normal((3, 2, 6, 6), (4, 2, 3, 3), *([4] if has_bias else []))
    (outputs, backward), (same, shorter) = conv2d(*arrays), conv2d(*arrays, is_first=True)
    np.testing.assert_array_equal(outputs, same)
    at_inputs, *at_parameters = shorter(outputs)
    assert at_inputs.shape == (0,)
    for found, expected in zip(at_parameters, backward(outputs)[1:], strict=True):
        np.testing.assert_array_equal(found, expected)


POOLINGS = [
    ((2, 3, 8, 6), {"size": 2}),
    ((2, 1, 7, 9), {"size": 2}),
    ((1, 2, 9, 9), {"size": 3}),
    ((2, 2, 8, 7), {"size": 3, "stride": 2}),
    ((1, 2, 6, 6), {"size": 2, "stride": 1}),
    ((1, 1, 9, 9), {"size": 2, "stride": 3}),
    ((1, 1, 4, 4), {"size": 4}),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("images", "options"), POOLINGS)
@pytest.mark.parametrize(
    ("pool", "torchs"),
    [(max_pool2d, functional.max_pool2d), (avg_pool2d, functional.avg_pool2d)],
    ids=["max", "avg"],
)
def test_pooling(pool, torchs, images, options, dtype):
    """Windows apart, side by side and overlapping; what is left over at the edges."""
    assert_same_as_torch(
        lambda each: pool(each, **options),
        lambda each: torchs(each, options["size"], options.get("stride")),
        normal(images, dtype=dtype),
    )


@pytest.mark.parametrize(("images", "options"), POOLINGS)
def test_of_equal_greatest_numbers_the_first_has_the_gradient(images, options):
    """Whole numbers from 0 to 2: hardly a window without a tie. -0.0 and 0.0 are equal."""
    values = np.random.default_rng(2).integers(0, 3, images).astype(float)
    values[values == 0] = np.resize([0.0, -0.0], int((values == 0).sum()))
    assert_same_as_torch(
        lambda each: max_pool2d(each, **options),
        lambda each: functional.max_pool2d(each, options["size"], options.get("stride")),
        [values],
    )


def test_ways_back_leave_the_inputs_and_the_gradient_as_they_are():
    """They may be called twice."""
    for function, arrays in (
        (lambda *each: conv2d(*each, padding=1), normal((2, 2, 4, 4), (3, 2, 3, 3), (3,))),
        (lambda each: max_pool2d(each, size=2), normal((2, 2, 4, 4))),
        (lambda each: avg_pool2d(each, size=2), normal((2, 2, 4, 4))),
    ):
        before = [array.copy() for array in arrays]
        outputs, backward = function(*arrays)
        upstream = np.ones_like(outputs)
        first, second = backward(upstream), backward(upstream)
        np.testing.assert_array_equal(upstream, 1)
        for one, other in zip((*first, *arrays), (*second, *before), strict=True):
            np.testing.assert_array_equal(one, other)


IMAGES, KERNELS = normal((2, 3, 8, 8), (4, 3, 5, 5))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: conv2d(IMAGES[0], KERNELS),
            r"conv2d, inputs: found shape \(3, 8, 8\); expected \(batch, channels, height, width\)",
        ),
        (
            lambda: conv2d(IMAGES.astype(np.uint8), KERNELS),
            "conv2d, inputs: found uint8; expected floating-point numbers",
        ),
        (
            lambda: conv2d(IMAGES[:, :2], KERNELS),
            r"conv2d, weight: found shape \(4, 3, 5, 5\); expected \(outputs, 2, rows, columns\)",
        ),
        (
            lambda: conv2d(IMAGES, KERNELS, np.zeros(3)),
            r"conv2d, bias: found shape \(3,\); expected \(4,\) \(one number for each kernel",
        ),
        (
            lambda: conv2d(IMAGES[:, :, :4], KERNELS),
            "conv2d: found windows of 5 x 5; expected 1 x 1 to 4 x 8",
        ),
        (lambda: conv2d(IMAGES, KERNELS, stride=0), "conv2d: found stride 0 and padding 0"),
        (lambda: conv2d(IMAGES, KERNELS, padding=-1), "found stride 1 and padding -1"),
        (
            lambda: conv2d(IMAGES, KERNELS)[1](np.zeros((2, 4, 8, 8))),
            r"conv2d, backward: found shape \(2, 4, 8, 8\); expected \(2, 4, 4, 4\)",
        ),
        (lambda: max_pool2d(IMAGES[0], size=2), "max_pool2d, inputs: found shape"),
        (lambda: max_pool2d(IMAGES, size=9), "max_pool2d: found windows of 9 x 9"),
        (lambda: max_pool2d(IMAGES, size=0), "max_pool2d: found windows of 0 x 0|stride 0"),
        (lambda: max_pool2d(IMAGES, size=2, stride=-1), "max_pool2d: found stride -1"),
        (
            lambda: max_pool2d(IMAGES, size=2)[1](np.zeros((2, 3, 1, 4))),
            r"max_pool2d, backward: found shape \(2, 3, 1, 4\); expected \(2, 3, 4, 4\)",
        ),
        (lambda: avg_pool2d(IMAGES[0, 0], size=2), "avg_pool2d, inputs: found shape"),
        (lambda: avg_pool2d(IMAGES, size=2, stride=0), "avg_pool2d: found stride 0"),
        (
            lambda: avg_pool2d(IMAGES, size=2)[1](np.zeros((2, 3, 4, 1))),
            r"avg_pool2d, backward: found shape \(2, 3, 4, 1\)",
        ),
    ],
)
def test_what_does_not_fit_is_said(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
