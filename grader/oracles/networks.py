"""A network as a list of layers: what it puts out, its loss and its gradient.

Back-propagation as in Rumelhart, Hinton and Williams (1986): from the loss, layer by layer, each
layer turns the gradient at its outputs into those at its inputs and at its parameters.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.oracles.arrays import Backward, Pass, Values, assert_floating
from grader.oracles.losses import cross_entropy

Deduction = Callable[[Values, Any], tuple[float, Values]]


@dataclass(frozen=True)
class Layer:
    """A function of inputs and parameters, with the names of the parameters."""

    function: Callable[..., Pass]
    parameters: tuple[str, ...] = ()
    """In the order in which the function takes them after its inputs."""


def layer(function: Callable[..., Pass], *parameters: str, **options: Any) -> Layer:
    """Return a function with its options and the names of its parameters.

    Such as `layer(conv2d, "conv1.weight", "conv1.bias", padding=2)`.
    function: one of this package, or any that returns outputs and a way back as they do.
    parameters: their names, in the order in which it takes them. options: its keyword arguments.
    """
    return Layer(partial(function, **options) if options else function, parameters)


def outputs_of(
    layers: Sequence[Layer], parameters: Mapping[str, Values], inputs: NDArray[Any]
) -> Values:
    """Return the outputs of a network.

    parameters: by the names that the layers have for them. inputs: as the first layer takes them,
    of any dtype. All is computed in the floating-point type of the parameters.
    Raises ValueError for names, dtypes and shapes that do not fit.
    """
    return _forward(layers, parameters, inputs)[0]


def loss_and_gradient(
    layers: Sequence[Layer],
    parameters: Mapping[str, Values],
    inputs: NDArray[Any],
    targets: NDArray[Any],
    *,
    loss: Deduction = cross_entropy,
) -> tuple[float, dict[str, Values]]:
    """Return the loss of a batch, and its gradient: by name, each of the parameter's shape.

    layers, parameters, inputs, errors: as of outputs_of. targets: what the loss takes beside the
    outputs. loss: cross_entropy, half_squared_error, or another that returns its gradient, too.
    A parameter of several layers has the sum of their gradients.
    """
    outputs, backwards = _forward(layers, parameters, inputs)
    value, upstream = loss(outputs, targets)
    gradient: dict[str, Values] = {}
    for each, backward in zip(reversed(layers), reversed(backwards), strict=True):
        upstream, *at_parameters = backward(upstream)
        for name, found in zip(each.parameters, at_parameters, strict=True):
            gradient[name] = gradient[name] + found if name in gradient else found
    return value, gradient


def _forward(
    layers: Sequence[Layer], parameters: Mapping[str, Values], inputs: NDArray[Any]
) -> tuple[Values, list[Backward]]:
    """Return what a network puts out, and the ways back through its layers, first to last."""
    _assert_names(layers, parameters)
    for name, parameter in parameters.items():
        assert_floating(name, parameter)
    dtype = np.result_type(*parameters.values()) if parameters else inputs.dtype
    values: Values = np.asarray(inputs, dtype)
    backwards = []
    for each in layers:
        values, backward = each.function(values, *[parameters[name] for name in each.parameters])
        backwards.append(backward)
    return values, backwards


def _assert_names(layers: Sequence[Layer], parameters: Mapping[str, Values]) -> None:
    taken = {name for each in layers for name in each.parameters}
    missing, unused = sorted(taken - parameters.keys()), sorted(parameters.keys() - taken)
    if missing or unused:
        raise ValueError(
            f"found the parameters {', '.join(sorted(parameters)) or 'none'}, expected "
            f"{', '.join(sorted(taken)) or 'none'}; give each parameter the name that its layer "
            "has for it"
        )
