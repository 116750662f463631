"""The oracle's network is Net of the support files: the same parameters, the same gradient."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from federated import lenet
from torch.nn import functional

SUPPORT_FILE = Path(__file__).parents[4] / "reference" / "federated" / "utils.py"

RANDOM = np.random.default_rng(1)
PARAMETERS = RANDOM.uniform(-0.1, 0.1, lenet.NUM_PARAMETERS)
IMAGES = RANDOM.uniform(-1, 1, (23, 3, 32, 32))
LABELS = RANDOM.integers(10, size=23)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-14), ("float32", 1e-7)])
def test_the_gradient_is_that_of_the_support_file(dtype, tolerance):
    """Of more examples than are computed at once, in the type of the parameters."""
    network = runpy.run_path(str(SUPPORT_FILE))["Net"]().to(getattr(torch, dtype))
    assert {name: each.shape for name, each in network.state_dict().items()} == lenet.SHAPES
    assert list(network.state_dict()) == list(lenet.SHAPES)
    parameters = torch.from_numpy(PARAMETERS.astype(dtype))
    torch.nn.utils.vector_to_parameters(parameters, network.parameters())
    scores = network(torch.from_numpy(IMAGES.astype(dtype)))
    functional.cross_entropy(scores, torch.from_numpy(LABELS)).backward()
    expected = np.concatenate([each.grad.numpy().ravel() for each in network.parameters()])
    found = lenet.gradient(PARAMETERS.astype(dtype), IMAGES, LABELS)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.filterwarnings("error")
def test_of_no_examples_the_gradient_is_zero():
    """A rank may come to a batch without any."""
    assert not lenet.gradient(PARAMETERS, IMAGES[:0], LABELS[:0]).any()
