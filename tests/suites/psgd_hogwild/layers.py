"""Which layers a network runs, read off the tensor operations of one forward pass."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

CONVOLUTION, MAX_POOL, RELU, DROPOUT = "convolution", "max pool", "ReLU", "dropout"
LINEAR, SOFTMAX = "linear", "softmax"

ASKED = [
    *(CONVOLUTION, MAX_POOL, RELU),
    *(CONVOLUTION, MAX_POOL, RELU, DROPOUT, MAX_POOL),
    *(LINEAR, RELU, LINEAR, SOFTMAX),
]
NAMES = "conv1, max pool, ReLU, conv2, max pool, ReLU, dropout, max pool, fc1, ReLU, fc2, softmax"

_LAYER_OF = {
    "aten::convolution": CONVOLUTION,
    "aten::_convolution": CONVOLUTION,
    "aten::mkldnn_convolution": CONVOLUTION,
    "aten::max_pool2d": MAX_POOL,
    "aten::max_pool2d_with_indices": MAX_POOL,
    "aten::adaptive_max_pool2d": MAX_POOL,
    "aten::relu": RELU,
    "aten::clamp_min": RELU,
    "aten::threshold": RELU,
    "aten::bernoulli": DROPOUT,
    "aten::native_dropout": DROPOUT,
    "aten::addmm": LINEAR,
    "aten::mm": LINEAR,
    "aten::_softmax": SOFTMAX,
    "aten::_log_softmax": "log-softmax",
    "aten::native_batch_norm": "batch norm",
    "aten::_native_batch_norm_legit": "batch norm",
    "aten::native_layer_norm": "layer norm",
    "aten::avg_pool2d": "average pool",
    "aten::_adaptive_avg_pool2d": "average pool",
    "aten::mean": "mean",
    "aten::sigmoid": "sigmoid",
    "aten::tanh": "tanh",
    "aten::gelu": "GELU",
    "aten::elu": "ELU",
    "aten::leaky_relu": "leaky ReLU",
    "aten::hardtanh": "ReLU6",
    "aten::exp": "exponential",
}
"""Everything else (views, copies, additions, scalings) belongs to a layer or is none."""


@dataclass(frozen=True)
class Layer:
    """One layer that was run, and the shape of what it gave."""

    name: str
    shape: tuple[int, ...]


def layers(operations: Sequence[tuple[str, Sequence[int]]]) -> list[Layer]:
    """Return the layers of a forward pass, in order.

    operations: name, such as aten::relu_, and shape of the result of each tensor operation.
    """
    found = []
    for operation, shape in operations:
        name = _LAYER_OF.get(operation.removesuffix("_"))
        if operation in ("aten::clamp", "aten::clamp_", "aten::maximum"):
            # relu written as clamp(min=0) or maximum(x, 0).
            name = RELU
        if name is not None:
            found.append(Layer(name, tuple(shape)))
    return found


def difference(found: Sequence[Layer], asked: Sequence[str], num_before: int = 0) -> str:
    """Return where the layers that ran are not those asked for; empty if they are.

    num_before: how many layers come before these.
    """
    told = ", ".join(layer.name for layer in found) or "none"
    for number, wanted in enumerate(asked):
        at = num_before + number
        if number == len(found):
            return f"after layer {at} no more follow, expected {wanted}; the layers are {told}"
        if found[number].name != wanted:
            return (
                f"layer {at + 1} is {found[number].name}, expected {wanted}; the layers are {told}"
            )
    if len(found) > len(asked):
        return f"after {asked[-1]} comes {found[len(asked)].name}; the layers are {told}"
    return ""


def kinds_difference(found: Sequence[Layer], asked: Sequence[str]) -> str:
    """Return which kinds of layers are missing or too many, whatever their order; empty if none."""
    number_of, asked_of = Counter(layer.name for layer in found), Counter(asked)
    told = [
        f"{number_of[name]} of {name}, expected {asked_of[name]}"
        for name in dict.fromkeys((*asked, *number_of))
        if number_of[name] != asked_of[name]
    ]
    return f"of the layers that run there are {'; '.join(told)}" if told else ""
