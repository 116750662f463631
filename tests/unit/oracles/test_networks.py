"""A list of layers is torch's module of the same layers: outputs, loss and gradient by name."""

import numpy as np
import pytest
import torch
from against_torch import DTYPES, TOLERANCE, assert_close, normal
from torch import nn
from torch.nn import functional

from grader.oracles import (
    Layer,
    batch_norm,
    conv2d,
    flatten,
    half_squared_error,
    layer,
    linear,
    loss_and_gradient,
    max_pool2d,
    outputs_of,
    relu,
)

LAYERS = (
    layer(conv2d, "0.weight", "0.bias", stride=2, padding=1),
    layer(batch_norm, "1.weight", "1.bias"),
    layer(relu),
    layer(max_pool2d, size=2),
    layer(flatten),
    layer(linear, "5.weight", "5.bias"),
)
IMAGES = np.random.default_rng(2).integers(0, 256, (4, 3, 9, 9)).astype(np.uint8)
LABELS = np.array([1, 0, 6, 3])


def module(dtype):
    """Return the same network of torch, with parameters of its own."""
    torch.manual_seed(1)
    layers = (
        nn.Conv2d(3, 4, 3, stride=2, padding=1),
        nn.BatchNorm2d(4),
        *(nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        nn.Linear(16, 7),
    )
    return nn.Sequential(*layers).to(getattr(torch, dtype))


def parameters_of(network):
    """Return the parameters of a module by name."""
    return {name: each.detach().numpy().copy() for name, each in network.named_parameters()}


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_network(dtype):
    """Of pixels, which are whole numbers: the parameters' type is what it computes in."""
    network = module(dtype)
    parameters = parameters_of(network)
    outputs = network(torch.from_numpy(IMAGES.astype(dtype)))
    expected = functional.cross_entropy(outputs, torch.from_numpy(LABELS))
    expected.backward()

    assert_close(outputs_of(LAYERS, parameters, IMAGES), outputs.detach().numpy())
    loss, gradient = loss_and_gradient(LAYERS, parameters, IMAGES, LABELS)
    assert loss == pytest.approx(float(expected.detach()), rel=TOLERANCE[dtype])
    assert gradient.keys() == parameters.keys()
    for name, each in network.named_parameters():
        assert_close(gradient[name], each.grad.numpy())


def test_parameters_and_inputs_stay_as_they_are():
    parameters, images = parameters_of(module("float64")), IMAGES / 255
    before = {name: array.copy() for name, array in parameters.items()}
    loss_and_gradient(LAYERS, parameters, images, LABELS)
    np.testing.assert_array_equal(images, IMAGES / 255)
    for name, array in parameters.items():
        np.testing.assert_array_equal(array, before[name])


def test_a_parameter_of_two_layers_has_the_sum_of_their_gradients():
    """Of w (w x) and the target 0, the loss has the slope 2 w^3 x^2 in w."""
    layers = (layer(linear, "weight"), layer(linear, "weight"))
    loss, gradient = loss_and_gradient(
        layers,
        {"weight": np.array([[3.0]])},
        np.array([[2.0]]),
        np.array([[0.0]]),
        loss=half_squared_error,
    )
    assert loss == 0.5 * 18**2
    assert gradient["weight"] == pytest.approx(2 * 3.0**3 * 2.0**2)


def test_a_layer_of_ones_own_is_a_function_that_returns_outputs_and_its_way_back():
    def doubled(inputs):
        return 2 * inputs, lambda upstream: (2 * upstream,)

    (inputs,) = normal((2, 3))
    np.testing.assert_array_equal(outputs_of([Layer(doubled)], {}, inputs), 2 * inputs)
    weight = {"weight": np.eye(3)}
    layers = (layer(linear, "weight"), layer(doubled))
    _, gradient = loss_and_gradient(layers, weight, inputs, 2 * inputs - 1, loss=half_squared_error)
    np.testing.assert_allclose(gradient["weight"], np.full((2, 3), 2).T @ inputs)


def test_names_that_do_not_fit_are_said():
    """A parameter that no layer takes would never be trained."""
    (weight,) = normal((2, 3))
    layers = [layer(linear, "fc.weight")]
    inputs, labels = np.zeros((1, 3)), np.zeros(1, int)
    for parameters in ({}, {"fc.weight": weight, "fc.bias": weight[:, 0]}, {"weight": weight}):
        found = ", ".join(sorted(parameters)) or "none"
        with pytest.raises(ValueError, match=f"the parameters {found}; expected fc.weight\\."):
            loss_and_gradient(layers, parameters, inputs, labels)
    with pytest.raises(ValueError, match=r"fc\.weight: found int64; expected floating-point"):
        outputs_of(layers, {"fc.weight": np.ones((2, 3), int)}, inputs)
