"""The oracle's network: its gradient is the derivative of its loss."""

import numpy as np
import pytest
from vgg_ddp import layers


def example(first_channels=1, batch=5):
    """Return parameters, images and labels in float64."""
    random = np.random.default_rng(3)
    parameters = {
        name: random.normal(size=shape) / np.sqrt(np.prod(shape[1:]))
        for name, shape in layers.shapes(first_channels).items()
    }
    images = random.normal(size=(batch, 3, 32, 32))
    return parameters, images, random.integers(10, size=batch)


def test_the_gradient_is_a_finite_difference_everywhere():
    """Some elements of every parameter, in all kinds of layers."""
    parameters, images, labels = example()
    _, gradient = layers.loss_and_gradient(parameters, images, labels)
    random = np.random.default_rng(4)
    step = 1e-6
    for name, values in parameters.items():
        assert gradient[name].shape == values.shape
        for place in random.integers(values.size, size=2):
            index = np.unravel_index(place, values.shape)
            losses = []
            for change in (step, -step):
                moved = {**parameters, name: values.copy()}
                moved[name][index] += change
                losses.append(layers.loss_and_gradient(moved, images, labels)[0])
            difference = (losses[0] - losses[1]) / (2 * step)
            assert gradient[name][index] == pytest.approx(difference, abs=1e-6, rel=1e-4), name


def test_the_loss_of_equal_scores_is_that_of_guessing():
    """Ten equal probabilities: log 10."""
    parameters, images, labels = example()
    parameters["classifier.weight"] *= 0
    parameters["classifier.bias"] *= 0
    loss, _ = layers.loss_and_gradient(parameters, images, labels)
    assert loss == pytest.approx(np.log(10))


def test_the_full_network_has_the_size_of_the_paper_s_column():
    """9.2 million parameters without the wide linear layers, none of them a convolution's bias."""
    shapes = layers.shapes(64)
    assert shapes["features.0.weight"] == (64, 3, 3, 3)
    assert shapes["features.25.weight"] == (512, 512, 3, 3)
    assert shapes["classifier.weight"] == (10, 512)
    assert sum(int(np.prod(shape)) for shape in shapes.values()) == 9_228_362
