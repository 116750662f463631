"""The judge's own forward pass gives what torch gives, and says when it cannot."""

import numpy as np
import pytest
import torch
from psgd_hogwild.layers import CONVOLUTION, LINEAR, MAX_POOL, RELU, SOFTMAX, Layer
from psgd_hogwild.recomputation import NotRecomputable, output_of
from torch import nn
from torch.nn import functional


class Net(nn.Module):
    """Two convolutions, the second with padding, and two linear layers."""

    def __init__(self, bias: bool):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 5, bias=bias)
        self.conv2 = nn.Conv2d(4, 4, 3, padding=1, bias=bias)
        self.fc1 = nn.Linear(4 * 6 * 6, 8, bias=bias)
        self.fc2 = nn.Linear(8, 10, bias=bias)

    def forward(self, images):
        x = functional.relu(functional.max_pool2d(self.conv1(images), 2))
        x = functional.max_pool2d(functional.relu(self.conv2(x)), 2)
        return functional.softmax(self.fc2(functional.relu(self.fc1(x.flatten(1)))), 1)


ALONE = {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1]}
PADDED = {**ALONE, "padding": [1, 1]}
LAYERS = [
    Layer(CONVOLUTION, (2, 4, 24, 24), ALONE),
    Layer(MAX_POOL, (2, 4, 12, 12)),
    Layer(RELU, (2, 4, 12, 12)),
    Layer(CONVOLUTION, (2, 4, 12, 12), PADDED),
    Layer(RELU, (2, 4, 12, 12)),
    Layer(MAX_POOL, (2, 4, 6, 6)),
    Layer(LINEAR, (2, 8)),
    Layer(RELU, (2, 8)),
    Layer(LINEAR, (2, 10)),
    Layer(SOFTMAX, (2, 10)),
]
IMAGES = np.random.default_rng(5).random((2, 1, 28, 28)).astype(np.float32)


def parameters_of(network: nn.Module) -> list[np.ndarray]:
    return [each.detach().numpy() for each in network.parameters()]


@pytest.mark.parametrize("bias", [True, False])
def test_the_output_is_that_of_torch(bias):
    """With padding, pools, and biases or none."""
    torch.manual_seed(1)
    network = Net(bias)
    with torch.no_grad():
        expected = network(torch.from_numpy(IMAGES)).numpy()
    np.testing.assert_allclose(output_of(IMAGES, LAYERS, parameters_of(network)), expected, 1e-4)


def test_other_parameters_give_another_output():
    """The comparison can fail."""
    torch.manual_seed(1)
    network = Net(bias=True)
    first = output_of(IMAGES, LAYERS, parameters_of(network))
    with torch.no_grad():
        network.fc2.bias[0] += 1
    assert not np.allclose(first, output_of(IMAGES, LAYERS, parameters_of(network)), 1e-3)


@pytest.mark.parametrize(
    ("found", "parameters"),
    [
        (LAYERS, []),
        ([Layer(CONVOLUTION, (2, 4, 24, 24))], [np.zeros((4, 1, 5, 5))]),
        ([Layer(CONVOLUTION, (2, 4, 24, 24), {**ALONE, "stride": [0]})], [np.zeros((4, 1, 5, 5))]),
        ([Layer(CONVOLUTION, (2, 4, 12, 12), ALONE)], [np.zeros((4, 1, 5, 5))]),
        ([Layer(CONVOLUTION, (2, 1, 0, 0), ALONE)], [np.zeros((1, 1, 29, 29))]),
        ([Layer(CONVOLUTION, (2, 1 << 14, 28, 28), ALONE)], [np.zeros((1 << 14, 1, 1, 1))]),
        (
            [Layer(CONVOLUTION, (2, 1, 1, 1), {**ALONE, "dilation": [1 << 40]})],
            [np.zeros((1, 1, 2, 2))],
        ),
        ([Layer(MAX_POOL, (2, 1, 29, 20))], []),
        ([Layer(MAX_POOL, (2, 1, 14, 14), {"kernel_size": [0]})], []),
        ([Layer(MAX_POOL, (2, 1, 14, 14), {"kernel_size": [1 << 40], "padding": [1 << 39]})], []),
        ([Layer(MAX_POOL, (2, 1, 9, 9), {"kernel_size": [2], "stride": [2]})], []),
        (
            [
                Layer(
                    MAX_POOL, (2, 1, 2, 2), {"kernel_size": [2], "stride": [30_000], "padding": [1]}
                )
            ],
            [],
        ),
        ([Layer(RELU, (2, 1, 28, 28))] * 25, []),
        ([Layer(RELU, (2, 1, 4, 4))], []),
        ([Layer(RELU, ())], []),
    ],
)
def test_what_does_not_fit_is_said(found, parameters):
    """Missing parameters, strides, what would fill the memory, pools and shapes that are not so."""
    with pytest.raises(NotRecomputable):
        output_of(IMAGES, found, parameters)
