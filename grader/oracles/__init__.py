"""Oracles of training in numpy: layers with their gradients, losses, optimizers.

They know no assignment, use nothing but numpy, and give what torch gives: options, names of
parameters and orders of axes are torch's. A suite says which layers a network has:

    LAYERS = (
        layer(conv2d, "conv1.weight", "conv1.bias", padding=2),
        layer(relu),
        layer(max_pool2d, size=2),
        layer(flatten),
        layer(linear, "fc.weight", "fc.bias"),
    )
    loss, gradient = loss_and_gradient(LAYERS, parameters, images, labels)

Layers
    Called by themselves they return their outputs and the way back, a function:
    `outputs, backward = linear(inputs, weight, bias)`, then
    `at_inputs, at_weight, at_bias = backward(at_outputs)`; at_x is the gradient of the loss at x.
    `conv2d`, `max_pool2d`, `avg_pool2d`, `linear`, `batch_norm` (in training), `flatten`, `relu`,
    `tanh`, `sigmoid`, `softmax`.
Losses
    `cross_entropy` (mean), `half_squared_error` (sum): the loss, and its gradient at the outputs.
Networks
    `layer`, a `Layer`; `outputs_of`, `loss_and_gradient` of a sequence of them.
Optimizers
    `SGD`, `Adam` (with `Moments`): `step` returns the parameters and what the next step needs.
Packing
    `packed`, `unpacked`, `num_elements`, `slices`, `element_name`: parameters as one vector.
Types
    `Values`, `Labels`, `Shapes`; `Pass`, what a layer returns, and `Backward`, its way back.

All is computed in the floating-point type of what goes in: float64 for an oracle that is to be
closer to the truth than a submission, float32 for one that computes as torch does.

Errors: ValueError says in a sentence what was found and what was expected, for shapes, dtypes,
labels and names that do not fit.
"""

from grader.oracles.layers import (
    Backward,
    Labels,
    Pass,
    Values,
    avg_pool2d,
    batch_norm,
    conv2d,
    cross_entropy,
    flatten,
    half_squared_error,
    linear,
    max_pool2d,
    relu,
    sigmoid,
    softmax,
    tanh,
)
from grader.oracles.networks import (
    SGD,
    Adam,
    Layer,
    Moments,
    Shapes,
    element_name,
    layer,
    loss_and_gradient,
    num_elements,
    outputs_of,
    packed,
    slices,
    unpacked,
)

_MODULES = {"layers", "networks"}
__all__ = [each for each in dir() if each[0].isalpha() and each not in _MODULES]
