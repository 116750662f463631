"""Steps lead where those of torch.optim lead."""

import numpy as np
import pytest
import torch
from against_torch import DTYPES, assert_close

from grader.oracles import SGD, Adam

NUM_STEPS = 5


def ends_in_torch(torchs, dtype, **options):
    """Return where each step ends, of torch's optimizer on the gradients of gradient_of."""
    parameter = torch.nn.Parameter(torch.from_numpy(start(dtype)))
    optimizer, ends = torchs([parameter], **options), []
    for number in range(NUM_STEPS):
        parameter.grad = torch.from_numpy(gradient_of(number, dtype))
        optimizer.step()
        ends.append(parameter.detach().numpy().copy())
    return ends


def start(dtype):
    return np.random.default_rng(9).normal(size=(3, 4)).astype(dtype)


def gradient_of(number, dtype):
    return np.random.default_rng(number).normal(size=(3, 4)).astype(dtype)


def assert_same_steps(optimizer, torchs, dtype, **options):
    """Assert that each step ends where torch's does, and that nothing given is changed."""
    parameters, kept = start(dtype), ()
    for number, expected in enumerate(ends_in_torch(torchs, dtype, **options)):
        before, gradient = parameters.copy(), gradient_of(number, dtype)
        ended, *kept = optimizer.step(parameters, gradient, *kept)
        np.testing.assert_array_equal(parameters, before)
        np.testing.assert_array_equal(gradient, gradient_of(number, dtype))
        assert_close(ended, expected)
        parameters = ended


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"momentum": 0.9},
        {"weight_decay": 0.1},
        {"momentum": 0.5, "weight_decay": 1e-2},
        {"momentum": 0.9, "nesterov": True},
        {"momentum": 0.7, "weight_decay": 0.1, "nesterov": True},
    ],
)
def test_sgd(options, dtype):
    assert_same_steps(SGD(0.1, **options), torch.optim.SGD, dtype, lr=0.1, **options)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("options", "torchs"),
    [
        ({}, {}),
        (
            {"learning_rate": 0.1, "betas": (0.5, 0.8), "epsilon": 1e-2},
            {"lr": 0.1, "betas": (0.5, 0.8), "eps": 1e-2},
        ),
        ({"weight_decay": 0.3}, {"weight_decay": 0.3}),
    ],
)
def test_adam(options, torchs, dtype):
    assert_same_steps(Adam(**options), torch.optim.Adam, dtype, **torchs)


@pytest.mark.parametrize("optimizer", [SGD(0.1), Adam()])
def test_a_gradient_of_another_shape_is_refused(optimizer):
    """One that would broadcast, too."""
    sentence = r"gradient: found shape \(1, 4\); expected \(3, 4\)"
    with pytest.raises(ValueError, match=sentence):
        optimizer.step(start("float64"), np.zeros((1, 4)))
