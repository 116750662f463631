"""The oracle's LeNet-5 has the paper's sizes, and its gradient is the derivative of its loss."""

from math import prod

import numpy as np
import pytest
from lenet_eyeriss import serial


def loss(parameters, pixels, labels):
    """Return the mean cross entropy, by loops over what a window sees."""
    arrays = {
        name: parameters[where].reshape(serial.SHAPES[name])
        for name, where in serial.SLICES.items()
    }
    total = 0.0
    for image, label in zip(pixels, labels, strict=True):
        maps = np.pad(image / 255, 2)[None]
        for layer in ("c1", "c3", "c5"):
            kernel, bias = arrays[f"{layer}.weight"], arrays[f"{layer}.bias"]
            size = maps.shape[1] - 4
            made = np.zeros((len(kernel), size, size))
            for row in range(size):
                for column in range(size):
                    window = maps[:, row : row + 5, column : column + 5]
                    made[:, row, column] = (kernel * window).sum(axis=(1, 2, 3)) + bias
            maps = np.tanh(made)
            if layer != "c5":
                rows = (maps[:, 0::2] + maps[:, 1::2]) / 2
                maps = (rows[:, :, 0::2] + rows[:, :, 1::2]) / 2
        units = np.tanh(arrays["f6.weight"] @ maps.ravel() + arrays["f6.bias"])
        outputs = arrays["output.weight"] @ units + arrays["output.bias"]
        total += np.log(np.exp(outputs).sum()) - outputs[label]
    return total / len(labels)


@pytest.fixture
def example():
    random = np.random.default_rng(3)
    start = serial.start_parameters(random).astype(np.float64)
    return start, random.integers(0, 256, (2, 28, 28)).astype(np.float64), np.array([3, 8])


def test_the_sizes_are_the_papers() -> None:
    layers = {name: prod(shape) for name, shape in serial.SHAPES.items()}
    assert layers["c5.weight"] + layers["c5.bias"] == 48120
    assert layers["f6.weight"] + layers["f6.bias"] == 10164
    assert serial.NUM_PARAMETERS == 61706


def test_the_gradient_is_the_derivative_of_the_loss(example) -> None:
    start, pixels, labels = example
    found = serial.gradient(start, pixels, labels)
    random = np.random.default_rng(4)
    step = 1e-5
    for where in serial.SLICES.values():
        index = int(random.integers(where.start, where.stop))
        moved = [start.copy(), start.copy()]
        moved[0][index] += step
        moved[1][index] -= step
        above, below = (loss(each, pixels, labels) for each in moved)
        assert found[index] == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-8)


def test_training_is_gradient_descent_on_the_whole_batch_of_each_epoch(example) -> None:
    start, pixels, labels = example
    pixels, labels = np.stack([pixels, 255 - pixels]), np.stack([labels, labels[::-1]])
    rows = serial.train(start.astype(np.float32), pixels, labels, 0.5)
    first = start - 0.5 * serial.gradient(start, pixels[0], labels[0])
    second = first - 0.5 * serial.gradient(first, pixels[1], labels[1])
    np.testing.assert_array_equal(rows, [first, second])


def test_an_element_has_the_name_that_a_student_knows() -> None:
    assert serial.name_at(0) == "c1.weight[0, 0, 0, 0]"
    assert serial.name_at(150 + 5) == "c1.bias[5]"
    assert serial.name_at(serial.NUM_PARAMETERS - 1) == "output.bias[9]"
