"""Layers that look at images through windows: convolution and pooling, forwards and backwards.

All take images (batch, channels, height, width). Where windows do not fill an image, the rest of it
at the right and at the bottom is left out, as torch does it.
"""

from collections.abc import Sequence

import numpy as np

from grader.oracles.arrays import Pass, Values, assert_floating, assert_shape, assert_upstream

_IMAGES = ("batch", "channels", "height", "width")
_IMAGES_HINT = "give a batch of images, of one image as images[None]"


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
        "it has as many channels as the images",
    )
    _assert_options("conv2d", stride, padding)
    num_outputs, channels, *size = weight.shape
    if bias is not None:
        assert_shape("conv2d, bias", bias, (num_outputs,), "it has a number for each kernel")
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
    window to window; by default they do not overlap.
    Backwards, of equal numbers in a window the first has it all, row by row.
    Raises ValueError for shapes that do not fit.
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
            f"{layer}: found windows of {size[0]} x {size[1]}, expected 1 x 1 to {height} x "
            f"{width}, the size of the images; take smaller windows, or pad the images"
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
            f"{layer}: found stride {stride} and padding {padding}, expected a stride of 1 or "
            "more and a padding of 0 or more"
        )
