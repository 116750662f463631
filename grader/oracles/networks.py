"""Networks as lists of layers, their parameters as one vector, and the steps of optimizers.

Back-propagation as in Rumelhart, Hinton and Williams (1986): from the loss, layer by layer, each
layer turns the gradient at its outputs into those at its inputs and at its parameters. An optimizer
is its options, with the defaults that torch.optim gives them; what it remembers goes in and out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.oracles.layers import (
    Backward,
    Pass,
    Values,
    assert_floating,
    assert_shape,
    cross_entropy,
)

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
            f"found the parameters {', '.join(sorted(parameters)) or 'none'}; expected "
            f"{', '.join(sorted(taken)) or 'none'}. Use the parameter names that the layers define"
        )


Shapes = Mapping[str, tuple[int, ...]]


def num_elements(shapes: Shapes) -> int:
    """Return how many numbers a packed vector has."""
    return sum(map(prod, shapes.values()))


def slices(shapes: Shapes) -> dict[str, slice]:
    """Return where each array lies in a packed vector."""
    ends = accumulate(map(prod, shapes.values()), initial=0)
    return {name: slice(*bounds) for name, bounds in zip(shapes, pairwise(ends), strict=True)}


def packed(arrays: Mapping[str, NDArray[Any]], shapes: Shapes) -> NDArray[Any]:
    """Return the packed vector of arrays by name; of none, a vector without elements.

    Raises ValueError for names or shapes that differ from `shapes`.
    """
    if arrays.keys() != shapes.keys():
        raise ValueError(
            f"found the arrays {', '.join(arrays) or 'none'}; expected "
            f"{', '.join(shapes) or 'none'}. Use the names in `shapes`"
        )
    for name, shape in shapes.items():
        assert_shape(name, arrays[name], shape, "`shapes` gives the shape of each array")
    return np.concatenate([arrays[name].ravel() for name in shapes]) if shapes else np.zeros(0)


def unpacked(vector: NDArray[Any], shapes: Shapes) -> dict[str, NDArray[Any]]:
    """Return the arrays of a packed vector by name; they share its memory.

    Raises ValueError if the vector's length does not match the shapes.
    """
    hint = "it must contain the arrays in `shapes`, one after another"
    assert_shape("packed vector", vector, (num_elements(shapes),), hint)
    places = slices(shapes)
    return {name: vector[places[name]].reshape(shape) for name, shape in shapes.items()}


def element_name(index: int, shapes: Shapes) -> str:
    """Return the name of an element of a packed vector, such as `conv1.bias[7]`.

    Raises ValueError for an index out of range.
    """
    for name, place in slices(shapes).items():
        if place.start <= index < place.stop:
            indices = np.unravel_index(index - place.start, shapes[name])
            return f"{name}[{', '.join(str(int(each)) for each in indices)}]"
    raise ValueError(
        f"found index {index}; expected 0 to {num_elements(shapes) - 1}, the last element of the "
        "packed arrays"
    )


@dataclass(frozen=True)
class SGD:
    """Stochastic gradient descent, with momentum, weight decay and Nesterov's look ahead.

    For gradient g, parameters w, velocity v: g <- g + decay w, v <- momentum v + g, and
    w <- w - rate v; Nesterov's w <- w - rate (g + momentum v) (Sutskever et al. 2013, section 2).
    """

    learning_rate: float
    momentum: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False

    def step(
        self, parameters: Values, gradient: Values, velocity: Values | float = 0.0
    ) -> tuple[Values, Values]:
        """Return the parameters after a step, and the velocity for the next one.

        parameters, gradient: of one shape. velocity: what the previous step returned; 0 at first.
        Raises ValueError for a gradient of another shape.
        """
        slope = _slope(parameters, gradient, self.weight_decay)
        velocity = self.momentum * velocity + slope if self.momentum else slope
        direction = slope + self.momentum * velocity if self.nesterov else velocity
        return parameters - self.learning_rate * direction, velocity


@dataclass(frozen=True)
class Moments:
    """What Adam remembers: running means of the gradients and of their squares."""

    num_steps: int
    first: Values
    second: Values


@dataclass(frozen=True)
class Adam:
    """Adam (Kingma and Ba 2015, algorithm 1); weight decay is added to the gradient."""

    learning_rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    weight_decay: float = 0.0

    def step(
        self, parameters: Values, gradient: Values, moments: Moments | None = None
    ) -> tuple[Values, Moments]:
        """Return the parameters after a step, and the moments for the next one.

        parameters, gradient: of one shape. moments: what the step before has returned; none at
        first. Raises ValueError for a gradient of another shape.
        """
        slope = _slope(parameters, gradient, self.weight_decay)
        before = moments or Moments(0, np.zeros_like(slope), np.zeros_like(slope))
        one, two = self.betas
        first = one * before.first + (1 - one) * slope
        second = two * before.second + (1 - two) * slope**2
        number = before.num_steps + 1
        # The means begin at zero: what is missing of them is made good.
        size = np.sqrt(second / (1 - two**number)) + self.epsilon
        direction = first / (1 - one**number) / size
        return parameters - self.learning_rate * direction, Moments(number, first, second)


def _slope(parameters: Values, gradient: Values, weight_decay: float) -> Values:
    """Return the gradient with what weight decay adds to it."""
    if np.shape(parameters) != np.shape(gradient):
        raise ValueError(
            f"gradient: found shape {np.shape(gradient)}; expected {np.shape(parameters)}. It must "
            "have one number for each parameter"
        )
    return gradient + weight_decay * parameters if weight_decay else gradient
