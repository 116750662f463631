"""Layers are read off tensor operations, whichever way they were written."""

import pytest
from psgd_hogwild.layers import ASKED, NAMES, Layer, difference, kinds_difference, layers


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
    found = layers([(name, shape, {}) for name, shape in operations])
    assert [layer.name for layer in found] == [
        *("convolution", "max pool", "ReLU", "dropout", "linear", "softmax")
    ]
    assert found[1].shape == (2, 4, 12, 12)


@pytest.mark.parametrize("name", ["aten::relu", "aten::clamp", "aten::clamp_min", "aten::maximum"])
def test_a_relu_may_be_written_in_several_ways(name):
    """relu, clamp(min=0) and maximum(x, 0) are the same layer."""
    assert [layer.name for layer in layers([(name, (1,), {})])] == ["ReLU"]


def test_the_layers_asked_for_are_the_twelve_of_the_sheet():
    """The words for the student and the list for the check say the same."""
    words = [
        name.replace("conv1", "convolution").replace("conv2", "convolution")
        for name in NAMES.split(", ")
    ]
    words = ["linear" if word in ("fc1", "fc2") else word for word in words]
    assert words == ASKED
    assert difference(of(*ASKED), ASKED) == []


@pytest.mark.parametrize(
    ("ran", "key", "layer", "expected"),
    [
        (of("a", "x", "c"), "network.other_layer", 2, "b"),
        (of("a", "b"), "network.layer_missing", 3, "c"),
        (of("a", "b", "c", "d"), "network.extra_layer", 4, ""),
        ([], "network.layer_missing", 1, "a"),
    ],
)
def test_the_first_difference_is_told(ran, key, layer, expected):
    """Wrong, missing, too many."""
    names = tuple(each.name for each in ran)
    first, second = difference(ran, ["a", "b", "c"])
    there = names[layer - 1] if layer <= len(names) else ""
    assert first.key == key
    assert first.facts == {"layer": layer, "ran": there, "expected": expected}
    assert f"Layer {layer} is" in first.text
    assert second.facts == {"names": names}
    first, second = difference(ran, ["a", "b", "c"], num_before=8)
    assert first.facts["layer"] == layer + 8
    assert second.text.startswith("Layers from 9 on: ")


def test_numbers_of_layers_are_told_whatever_their_order():
    """Those that are too few, and those that are not asked for."""
    assert kinds_difference(of("c", "b", "b", "a"), ["a", "b", "b", "c"]) == []
    (told,) = kinds_difference(of("a", "b", "x"), ["a", "b", "b"])
    assert told.facts == {"layers": ("b", "x")}
    assert told.text.endswith(": b 1 (expected 2), x 1 (expected 0).")
