"""The oracle's network is that of the support file; its steps are those the handout asks for."""

import runpy
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional
from vgg_ddp import serial

SUPPORT_FILE = Path(__file__).parents[4] / "reference" / "vgg_ddp" / "model.py"


def test_the_gradient_is_that_of_the_support_file():
    """In float64, where rounding decides no ReLU."""
    torch.manual_seed(1)
    network = runpy.run_path(str(SUPPORT_FILE))["VGG"](2).double()
    shapes = {name: each.shape for name, each in network.named_parameters()}
    assert list(shapes.items()) == list(serial.shapes(2).items())
    parameters = np.concatenate([each.detach().numpy().ravel() for each in network.parameters()])
    random = np.random.default_rng(3)
    images, labels = random.normal(size=(7, 3, 32, 32)), random.integers(10, size=7)
    scores = network(torch.from_numpy(images))
    functional.cross_entropy(scores, torch.from_numpy(labels)).backward()
    expected = np.concatenate([each.grad.numpy().ravel() for each in network.parameters()])
    found = serial.gradient(parameters, images, labels, 2)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_the_full_network_has_the_size_of_the_paper_s_column():
    """9.2 million parameters without the wide linear layers, none of them a convolution's bias."""
    shapes = serial.shapes(64)
    assert shapes["features.0.weight"] == (64, 3, 3, 3)
    assert shapes["features.25.weight"] == (512, 512, 3, 3)
    assert shapes["classifier.weight"] == (10, 512)
    assert serial.num_parameters(64) == 9_228_362


def test_momentum_gathers_gradients_and_decay():
    """Two steps by hand."""
    start, gradients = np.array([1.0]), np.array([[2.0], [3.0]])
    first = 1 - 0.1 * (2 + 1e-4)
    second = first - 0.1 * (0.9 * (2 + 1e-4) + 3 + 1e-4 * first)
    ends = serial.ends_of_steps(start, np.array([[first], [second]]), gradients)
    np.testing.assert_allclose(ends, [[first], [second]], rtol=1e-14)


def test_each_step_starts_from_where_the_rank_was_seen():
    """A wrong step before does not make the next one wrong, but for what momentum keeps."""
    reached, gradients = np.array([[5.0], [0.0]]), np.array([[0.0], [0.0]])
    ends = serial.ends_of_steps(np.array([1.0]), reached, gradients)
    assert ends[1][0] == 5.0 - 0.1 * (0.9 * 1e-4 + 1e-4 * 5.0)
