"""Which layers a network runs, read off the tensor operations of one forward pass."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from grader.api import Finding, found

CONVOLUTION, MAX_POOL, RELU, DROPOUT = "convolution", "max pool", "ReLU", "dropout"
LINEAR, SOFTMAX = "linear", "softmax"

ASKED = [
    *(CONVOLUTION, MAX_POOL, RELU),
    *(CONVOLUTION, MAX_POOL, RELU, DROPOUT, MAX_POOL),
    *(LINEAR, RELU, LINEAR, SOFTMAX),
]
NAMES = "conv1, max pool, ReLU, conv2, max pool, ReLU, dropout, max pool, fc1, ReLU, fc2, softmax"
_HELP = f"compare with the handout's layers, in order: {NAMES}"

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


Settings = Mapping[str, Sequence[int]]
"""Of an operation, by torch's names: of windows, in each direction; the dimension of a softmax; and
the places of weight and bias among the network's parameters."""


@dataclass(frozen=True)
class Layer:
    """One layer that was run, and the shape of what it gave."""

    name: str
    shape: tuple[int, ...]
    settings: Settings = field(default_factory=dict)


def layers(operations: Sequence[tuple[str, Sequence[int], Settings]]) -> list[Layer]:
    """Return the layers of a forward pass, in order.

    operations: name, such as aten::relu_, shape of the result, and settings of each
    tensor operation.
    """
    ran: list[Layer] = []
    for operation, shape, settings in operations:
        name = _LAYER_OF.get(operation.removesuffix("_"))
        is_bias = operation.removesuffix("_") == "aten::add" and "bias" in settings
        if is_bias and ran and ran[-1].name in (CONVOLUTION, LINEAR):
            bias = {"bias": settings["bias"]}
            ran[-1] = replace(ran[-1], settings={**ran[-1].settings, **bias})
        if operation in ("aten::clamp", "aten::clamp_", "aten::maximum"):
            # relu written as clamp(min=0) or maximum(x, 0).
            name = RELU
        # Without a stride, it gives back what it gets.
        window = {*settings.get("kernel_size", ()), *settings.get("stride", ())}
        if name == MAX_POOL and window == {1}:
            name = "max pool over 1x1"
        if name is not None:
            ran.append(Layer(name, tuple(shape), settings))
    return ran


def difference(ran: Sequence[Layer], asked: Sequence[str], num_before: int = 0) -> list[Finding]:
    """Return where the layers that ran are not those asked for; nothing if they are.

    num_before: how many layers come before these.
    """
    names = [layer.name for layer in ran]
    if names == list(asked):
        return []
    at = next(
        (i for i, pair in enumerate(zip(names, asked, strict=False)) if pair[0] != pair[1]),
        min(len(names), len(asked)),
    )
    number = num_before + at + 1
    ran_here, wanted = (each[at] if at < len(each) else "" for each in (names, asked))
    facts: dict[str, Any] = {"layer": number, "ran": ran_here, "expected": wanted}
    if not wanted:
        text = f"Layer {number} is {ran_here}; no layer may follow {asked[-1]} here."
        differs = found("network.extra_layer", text, help=_HELP, **facts)
    elif not ran_here:
        text = f"Layer {number} is missing; expected {wanted}."
        differs = found("network.layer_missing", text, help=_HELP, **facts)
    else:
        text = f"Layer {number} is {ran_here}; expected {wanted}."
        differs = found("network.other_layer", text, help=_HELP, **facts)
    return [differs, layers_told(ran, num_before)]


def layers_told(ran: Sequence[Layer], num_before: int = 0) -> Finding:
    """Return which layers ran, in order, behind those that come before them."""
    names = [layer.name for layer in ran]
    which = f"Layers from {num_before + 1} on" if num_before else "Layers that ran"
    text = f"{which}: {', '.join(names) or 'none'}."
    return found("network.layers_that_ran", text, names=names)


def kinds_difference(ran: Sequence[Layer], asked: Sequence[str]) -> list[Finding]:
    """Return which kinds of layers are missing or too many, whatever their order."""
    number_of, asked_of = Counter(layer.name for layer in ran), Counter(asked)
    differing = [
        name for name in dict.fromkeys((*asked, *number_of)) if number_of[name] != asked_of[name]
    ]
    if not differing:
        return []
    told = ", ".join(f"{each} {number_of[each]} (expected {asked_of[each]})" for each in differing)
    text = f"The network has the wrong number of these layers: {told}."
    return [found("network.number_of_layers", text, help=_HELP, layers=differing)]
