"""Layers are read off tensor operations, whichever way they were written."""

import pytest
from psgd_hogwild.layers import ASKED, NAMES, Layer, difference, layers


def of(*names: str) -> list[Layer]:
    return [Layer(name, (1,)) for name in names]


def test_operations_that_are_no_layer_are_left_out():
    """Views, copies and the additions of a bias belong to the layers around them."""
    operations = [
        ("aten::convolution", (2, 4, 24, 24)),
        ("aten::max_pool2d_with_indices", (2, 4, 12, 12)),
        ("aten::relu_", (2, 4, 12, 12)),
        ("aten::detach", (2, 4, 12, 12)),
        ("aten::bernoulli_", (2, 4, 12, 12)),
        ("aten::div_", (2, 4, 12, 12)),
        ("aten::mul", (2, 4, 12, 12)),
        ("aten::view", (2, 576)),
        ("aten::t", (576, 10)),
        ("aten::mm", (2, 10)),
        ("aten::add", (2, 10)),
        ("aten::_softmax", (2, 10)),
    ]
    found = layers(operations)
    assert [layer.name for layer in found] == [
        *("convolution", "max pool", "ReLU", "dropout", "linear", "softmax")
    ]
    assert found[1].shape == (2, 4, 12, 12)


@pytest.mark.parametrize("name", ["aten::relu", "aten::clamp", "aten::clamp_min", "aten::maximum"])
def test_a_relu_may_be_written_in_several_ways(name):
    """relu, clamp(min=0) and maximum(x, 0) are the same layer."""
    assert [layer.name for layer in layers([(name, (1,))])] == ["ReLU"]


def test_the_layers_asked_for_are_the_twelve_of_the_sheet():
    """The words for the student and the list for the check say the same."""
    words = [
        name.replace("conv1", "convolution").replace("conv2", "convolution")
        for name in NAMES.split(", ")
    ]
    words = ["linear" if word in ("fc1", "fc2") else word for word in words]
    assert words == ASKED
    assert difference(of(*ASKED), ASKED) == ""


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (of("a", "x", "c"), "layer 2 is x, expected b; the layers are a, x, c"),
        (of("a", "b"), "after layer 2 no more follow, expected c; the layers are a, b"),
        (of("a", "b", "c", "d"), "after c comes d; the layers are a, b, c, d"),
        ([], "after layer 0 no more follow, expected a; the layers are none"),
    ],
)
def test_the_first_difference_is_told(found, told):
    """Wrong, missing, too many."""
    assert difference(found, ["a", "b", "c"]) == told
