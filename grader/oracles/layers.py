"""Layers of one matrix product or none: linear, batch normalization, activations."""

import numpy as np

from grader.oracles.arrays import Pass, Values, assert_floating, assert_shape, assert_upstream


def linear(inputs: Values, weight: Values, bias: Values | None = None) -> Pass:
    """Return inputs times the transpose of weight, plus bias; torch.nn.functional.linear.

    inputs: (batch, features). weight: (outputs, features). bias: (outputs,).
    Returns outputs (batch, outputs), and the way back to inputs, weight, and bias if given.
    Raises ValueError for shapes that do not fit.
    """
    assert_shape("linear, inputs", inputs, ("batch", "features"), "flatten() makes that of images")
    assert_floating("linear, inputs", inputs)
    assert_shape(
        "linear, weight", weight, ("outputs", inputs.shape[1]), "it has a row for each output"
    )
    outputs = inputs @ weight.T
    if bias is not None:
        assert_shape("linear, bias", bias, (len(weight),), "it has a number for each output")
        outputs = outputs + bias

    def backward(upstream: Values) -> tuple[Values, ...]:
        assert_upstream("linear", upstream, outputs)
        found = upstream @ weight, upstream.T @ inputs
        return found if bias is None else (*found, upstream.sum(axis=0))

    return outputs, backward


def batch_norm(inputs: Values, weight: Values, bias: Values, *, epsilon: float = 1e-5) -> Pass:
    """Normalize each channel to mean 0 and variance 1 over the batch, then scale and shift it.

    torch.nn.BatchNorm1d and 2d in training: the statistics are those of this very batch, and the
    variance is divided by the number of values, not by one less.
    inputs: (batch, channels, ...). weight, bias: (channels,). epsilon: added to the variance.
    Backwards as in Ioffe and Szegedy (2015), section 3, with the sums put together.
    Raises ValueError for shapes that do not fit.
    """
    assert_floating("batch_norm, inputs", inputs)
    if inputs.ndim < 2:
        raise ValueError(
            f"batch_norm, inputs: found shape {inputs.shape}, expected (batch, channels, ...); "
            "each channel is normalised over the batch"
        )
    for name, array in (("weight", weight), ("bias", bias)):
        assert_shape(
            f"batch_norm, {name}", array, inputs.shape[1:2], "it has a number for each channel"
        )
    axes = (0, *range(2, inputs.ndim))
    # Makes of an array of channels one that broadcasts to the inputs.
    along = (slice(None), *[None] * (inputs.ndim - 2))
    deviation = np.sqrt(inputs.var(axis=axes) + epsilon)
    normal = (inputs - inputs.mean(axis=axes)[along]) / deviation[along]
    outputs = weight[along] * normal + bias[along]

    def backward(upstream: Values) -> tuple[Values, ...]:
        assert_upstream("batch_norm", upstream, outputs)
        at_weight = (upstream * normal).sum(axis=axes)
        at_bias = upstream.sum(axis=axes)
        count = upstream.size / upstream.shape[1]
        centred = upstream - (at_bias[along] + normal * at_weight[along]) / count
        return (weight / deviation)[along] * centred, at_weight, at_bias

    return outputs, backward


def flatten(inputs: Values) -> Pass:
    """Return inputs (batch, ...) as (batch, features)."""
    outputs = inputs.reshape(len(inputs), int(np.prod(inputs.shape[1:])))

    def backward(upstream: Values) -> tuple[Values, ...]:
        assert_upstream("flatten", upstream, outputs)
        return (upstream.reshape(inputs.shape),)

    return outputs, backward


def relu(inputs: Values) -> Pass:
    """Return the inputs, with 0 for negative ones; the gradient at 0 is 0. Any shape."""
    outputs = np.maximum(inputs, 0)

    def backward(upstream: Values) -> tuple[Values, ...]:
        assert_upstream("relu", upstream, outputs)
        return (np.where(outputs > 0, upstream, 0),)

    return outputs, backward


def tanh(inputs: Values) -> Pass:
    """Return the hyperbolic tangent of inputs of any shape."""
    outputs = np.tanh(inputs)

    def backward(upstream: Values) -> tuple[Values, ...]:
        assert_upstream("tanh", upstream, outputs)
        return (upstream * (1 - outputs**2),)

    return outputs, backward


def sigmoid(inputs: Values) -> Pass:
    """Return 1 / (1 + exp(-x)) for inputs x of any shape."""
    with np.errstate(over="ignore"):  # 1 / (1 + inf) is what it should be
        outputs = 1 / (1 + np.exp(-inputs))

    def backward(upstream: Values) -> tuple[Values, ...]:
        assert_upstream("sigmoid", upstream, outputs)
        return (upstream * outputs * (1 - outputs),)

    return outputs, backward


def softmax(inputs: Values) -> Pass:
    """Return the probabilities of scores: exp(x) over the sum of its row.

    inputs: (batch, classes). Before cross_entropy there is none: it takes scores.
    Raises ValueError for another shape.
    """
    assert_shape("softmax, inputs", inputs, ("batch", "classes"), "there is a row for each example")
    powers = np.exp(inputs - inputs.max(axis=1, keepdims=True))
    outputs = powers / powers.sum(axis=1, keepdims=True)

    def backward(upstream: Values) -> tuple[Values, ...]:
        assert_upstream("softmax", upstream, outputs)
        inner = (upstream * outputs).sum(axis=1, keepdims=True)
        return (outputs * (upstream - inner),)

    return outputs, backward
