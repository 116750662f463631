"""The oracle's LeNet-5 has the paper's sizes, and the gradient of the support file's."""

import runpy
from math import prod
from pathlib import Path

import numpy as np
import pytest
import torch
from lenet_eyeriss import serial
from torch.nn import functional

SUPPORT_FILE = Path(__file__).parents[4] / "reference" / "lenet_eyeriss" / "lenet.py"


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


def test_the_gradient_is_that_of_the_support_file(example) -> None:
    start, pixels, labels = example
    network = runpy.run_path(str(SUPPORT_FILE))["LeNet5"]().double()
    shapes = {name: each.shape for name, each in network.named_parameters()}
    assert list(shapes.items()) == list(serial.SHAPES.items())
    torch.nn.utils.vector_to_parameters(torch.from_numpy(start), network.parameters())
    scores = network(torch.from_numpy(pixels[:, None] / 255))
    functional.cross_entropy(scores, torch.from_numpy(labels)).backward()
    expected = np.concatenate([each.grad.numpy().ravel() for each in network.parameters()])
    found = serial.gradient(start, pixels, labels)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


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
