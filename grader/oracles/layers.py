"""Layers with their gradients, of images and of vectors; and the losses of a batch."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
"""Floating-point numbers. Of which precision is for the suite to say, in types of its own."""

Labels = NDArray[Any]
"""Whole numbers."""

Backward = Callable[[Values], tuple[Values, ...]]
"""From the gradient at a layer's outputs to those at its inputs and at each of its parameters."""

Pass = tuple[Values, Backward]
"""The outputs of a layer, and its way back."""


def assert_floating(what: str, array: NDArray[Any]) -> None:
    """Assert that an array holds floating-point numbers.

    what: whose numbers they are. Raises ValueError with the dtype.
    """
    if array.dtype.kind != "f":
        raise ValueError(
            f"{what}: found {array.dtype}; expected floating-point numbers. Convert them, for "
            "example with .astype(np.float64)"
        )


def assert_shape(what: str, array: NDArray[Any], axes: tuple[int | str, ...], hint: str) -> None:
    """Assert that an array has the expected shape.

    what: whose shape it is. axes: lengths, and names for axes of any length. hint: how to mend it.
    Raises ValueError with both shapes.
    """
    if len(axes) == array.ndim:
        for length, wanted in zip(array.shape, axes, strict=True):
            if length != wanted and not isinstance(wanted, str):
                break
        else:
            return
    expected = f"({', '.join(map(str, axes))}{',' * (len(axes) == 1)})"
    raise ValueError(f"{what}: found shape {array.shape}; expected {expected} ({hint})")


def assert_upstream(layer: str, upstream: NDArray[Any], outputs: NDArray[Any]) -> None:
    """Assert that a gradient has the shape of the outputs it is taken at. Raises ValueError."""
    if upstream.shape != outputs.shape:
        raise ValueError(
            f"{layer}, backward: found shape {upstream.shape}; expected {outputs.shape}. backward "
            "takes the gradient with respect to the layer's outputs, one number for each output"
        )


def linear(inputs: Values, weight: Values, bias: Values | None = None) -> Pass:
    """Return inputs times the transpose of weight, plus bias; torch.nn.functional.linear.

    inputs: (batch, features). weight: (outputs, features). bias: (outputs,).
    Returns outputs (batch, outputs), and the way back to inputs, weight, and bias if given.
    Raises ValueError for shapes that do not fit.
    """
    assert_shape("linear, inputs", inputs, ("batch", "features"), "flatten() reshapes images")
    assert_floating("linear, inputs", inputs)
    assert_shape("linear, weight", weight, ("outputs", inputs.shape[1]), "one row for each output")
    outputs = inputs @ weight.T
    if bias is not None:
        assert_shape("linear, bias", bias, (len(weight),), "one number for each output")
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
            f"batch_norm, inputs: found shape {inputs.shape}; expected (batch, channels, ...). "
            "Each channel is normalised over the batch"
        )
    for name, array in (("weight", weight), ("bias", bias)):
        assert_shape(f"batch_norm, {name}", array, inputs.shape[1:2], "one number for each channel")
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
    assert_shape("softmax, inputs", inputs, ("batch", "classes"), "one row for each example")
    powers = np.exp(inputs - inputs.max(axis=1, keepdims=True))
    outputs = powers / powers.sum(axis=1, keepdims=True)

    def backward(upstream: Values) -> tuple[Values, ...]:
        assert_upstream("softmax", upstream, outputs)
        inner = (upstream * outputs).sum(axis=1, keepdims=True)
        return (outputs * (upstream - inner),)

    return outputs, backward


_IMAGES = ("batch", "channels", "height", "width")
_IMAGES_HINT = "pass a batch of images; for a single image, pass image[None]"


def conv2d(
    inputs: Values,
    weight: Values,
    bias: Values | None = None,
    *,
    stride: int = 1,
    padding: int = 0,
    is_first: bool = False,
) -> Pass:
    """Correlate images with kernels; torch.nn.functional.conv2d.

    inputs: (batch, channels, height, width). weight: (outputs, channels, rows, columns). bias:
    (outputs,). stride: in both directions. padding: zeros at each side of an image.
    is_first: of a network's layers, so that nobody needs the gradient at the inputs: an empty array
    stands for it, which saves a quarter of the time of a small network.
    Returns outputs (batch, outputs, ...), and the way back to inputs, weight, and bias if given.
    Each is one matrix product an image, of the kernels with all they see (Chellapilla, Puri and
    Simard 2006). Raises ValueError for shapes that do not fit.
    """
    _assert_images("conv2d", inputs)
    assert_shape(
        "conv2d, weight",
        weight,
        ("outputs", inputs.shape[1], "rows", "columns"),
        "the kernels must have as many channels as the images",
    )
    _assert_options("conv2d", stride, padding)
    num_outputs, channels, *size = weight.shape
    if bias is not None:
        assert_shape("conv2d, bias", bias, (num_outputs,), "one number for each kernel")
    batch, _, height, width = inputs.shape
    edges = (padding, padding)
    padded = np.pad(inputs, ((0, 0), (0, 0), edges, edges)) if padding else inputs
    views = _views("conv2d", padded, size, stride)
    rows, columns = views[0].shape[2:]

    seen = np.empty((batch, channels, len(views), rows, columns), inputs.dtype)
    for place, view in enumerate(views):
        seen[:, :, place] = view
    matrices = seen.reshape(batch, channels * len(views), rows * columns)
    kernels = weight.reshape(num_outputs, -1)
    sums = kernels @ matrices
    if bias is not None:
        sums = sums + bias[:, None]
    outputs = sums.reshape(batch, num_outputs, rows, columns)

    def backward(upstream: Values) -> tuple[Values, ...]:
        assert_upstream("conv2d", upstream, outputs)
        flat = upstream.reshape(batch, num_outputs, rows * columns)
        at_weight = (flat @ matrices.transpose(0, 2, 1)).sum(axis=0).reshape(weight.shape)
        at_parameters = (at_weight,) if bias is None else (at_weight, flat.sum(axis=(0, 2)))
        if is_first:
            return np.zeros(0, upstream.dtype), *at_parameters
        at_seen = (kernels.T @ flat).reshape(seen.shape)
        at_padded = np.zeros(padded.shape, at_seen.dtype)
        for place, view in enumerate(_views("conv2d", at_padded, size, stride)):
            view += at_seen[:, :, place]
        at_inputs = at_padded[:, :, padding : padding + height, padding : padding + width]
        return at_inputs, *at_parameters

    return outputs, backward


def max_pool2d(inputs: Values, *, size: int, stride: int | None = None) -> Pass:
    """Keep the greatest number of each window; torch.nn.functional.max_pool2d.

    inputs: (batch, channels, height, width). size: of a window, in both directions. stride: from
    window to window; by default they do not overlap. Backwards, of equal numbers in a window the
    first has it all, row by row. Raises ValueError for shapes that do not fit.
    """
    _assert_images("max_pool2d", inputs)
    step = size if stride is None else stride
    _assert_options("max_pool2d", step)
    views = _views("max_pool2d", inputs, (size, size), step)
    outputs = views[0].copy()
    for view in views[1:]:
        np.maximum(outputs, view, out=outputs)

    def backward(upstream: Values) -> tuple[Values, ...]:
        assert_upstream("max_pool2d", upstream, outputs)
        at_inputs = np.zeros(inputs.shape, upstream.dtype)
        is_open = np.ones(outputs.shape, dtype=bool)
        at_views = _views("max_pool2d", at_inputs, (size, size), step)
        for view, at_view in zip(views, at_views, strict=True):
            is_here = is_open & ((view == outputs) | np.isnan(view))
            at_view += upstream * is_here
            is_open &= ~is_here
        return (at_inputs,)

    return outputs, backward


def avg_pool2d(inputs: Values, *, size: int, stride: int | None = None) -> Pass:
    """Return the mean of each window; torch.nn.functional.avg_pool2d.

    inputs, size, stride, errors: as of max_pool2d.
    """
    _assert_images("avg_pool2d", inputs)
    step = size if stride is None else stride
    _assert_options("avg_pool2d", step)
    views = _views("avg_pool2d", inputs, (size, size), step)
    outputs = sum(views[1:], views[0]) / len(views)

    def backward(upstream: Values) -> tuple[Values, ...]:
        assert_upstream("avg_pool2d", upstream, outputs)
        at_inputs = np.zeros(inputs.shape, upstream.dtype)
        share = upstream / len(views)
        for at_view in _views("avg_pool2d", at_inputs, (size, size), step):
            at_view += share
        return (at_inputs,)

    return outputs, backward


def _views(layer: str, images: Values, size: Sequence[int], stride: int) -> list[Values]:
    """Return, place by place of a window, the pixels that all windows have there.

    Each is (batch, channels, rows, columns), one pixel for each window; they share memory with the
    images. size: rows and columns of a window. Raises ValueError where no window fits.
    """
    height, width = images.shape[2:]
    if not (0 < size[0] <= height and 0 < size[1] <= width):
        raise ValueError(
            f"{layer}: found windows of {size[0]} x {size[1]}; expected 1 x 1 to {height} x "
            f"{width}, the size of the images. Use smaller windows, or pad the images"
        )
    below, beside = height - size[0] + 1, width - size[1] + 1
    return [
        images[:, :, row : row + below : stride, column : column + beside : stride]
        for row in range(size[0])
        for column in range(size[1])
    ]


def _assert_images(layer: str, inputs: Values) -> None:
    assert_shape(f"{layer}, inputs", inputs, _IMAGES, _IMAGES_HINT)
    assert_floating(f"{layer}, inputs", inputs)


def _assert_options(layer: str, stride: int, padding: int = 0) -> None:
    if stride < 1 or padding < 0:
        raise ValueError(
            f"{layer}: found stride {stride} and padding {padding}; expected a stride of 1 or "
            "more and a padding of 0 or more"
        )


def cross_entropy(scores: Values, labels: Labels) -> tuple[float, Values]:
    """Return the mean of -log softmax(scores)[label], and its gradient at the scores.

    scores: (batch, classes), before any softmax. labels: (batch,), whole numbers from 0 to one less
    than the number of classes. torch.nn.CrossEntropyLoss(); but of no examples, loss and gradient
    are 0. Raises ValueError for shapes and labels that do not fit.
    """
    assert_shape("cross_entropy, scores", scores, ("batch", "classes"), "one row for each example")
    assert_floating("cross_entropy, scores", scores)
    assert_shape("cross_entropy, labels", labels, scores.shape[:1], "one label for each example")
    is_label = labels[:, np.newaxis] == np.arange(scores.shape[1])
    _assert_labels(labels, is_label)
    shifted = scores - scores.max(axis=1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    number = max(len(labels), 1)
    at_scores = (np.exp(log_probabilities) - is_label) / number
    return float(-log_probabilities[is_label].sum() / number), at_scores


def half_squared_error(outputs: Values, targets: Values) -> tuple[float, Values]:
    """Return half the squared distance of outputs from targets, and its gradient at the outputs.

    outputs, targets: of one shape. It is summed over the batch, not averaged (Rumelhart, Hinton and
    Williams 1986). Raises ValueError for shapes that differ.
    """
    assert_floating("half_squared_error, outputs", outputs)
    assert_shape(
        "half_squared_error, targets", targets, outputs.shape, "one target for each output"
    )
    at_outputs = outputs - targets
    return float(0.5 * np.sum(at_outputs**2)), at_outputs


def _assert_labels(labels: NDArray[Any], is_label: NDArray[np.bool_]) -> None:
    """Assert that labels are whole numbers, and that each is a class."""
    if labels.dtype.kind not in "iu":
        raise ValueError(
            f"cross_entropy, labels: found {labels.dtype}; expected whole numbers. Convert "
            "one-hot rows with rows.argmax(axis=1)"
        )
    if np.count_nonzero(is_label) != len(labels):
        raise ValueError(
            f"cross_entropy, labels: found {labels.min()} to {labels.max()}; expected 0 to "
            f"{is_label.shape[1] - 1}. Classes are numbered from 0, one per column of the scores"
        )
