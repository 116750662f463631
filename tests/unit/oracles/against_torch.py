"""Holds a layer against torch: its outputs, and its gradients at all it is given."""

import numpy as np
import torch

DTYPES = ("float32", "float64")
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}


def assert_same_as_torch(function, torchs, arrays):
    """Assert that outputs, and the gradients at all arrays, are those of torch."""
    dtype = arrays[0].dtype
    tensors = [torch.from_numpy(array.copy()).requires_grad_() for array in arrays]
    expected = torchs(*tensors)
    outputs, backward = function(*arrays)
    upstream = np.random.default_rng(0).normal(size=expected.shape).astype(dtype)
    expected.backward(torch.from_numpy(upstream))
    found = (outputs, *backward(upstream))
    wanted = (expected.detach(), *(tensor.grad for tensor in tensors))
    for got, tensor in zip(found, wanted, strict=True):
        assert_close(got, tensor.numpy())


def assert_close(found, wanted):
    """Assert that two arrays are one but for rounding, of sums of some dozen terms."""
    assert found.dtype == wanted.dtype
    tolerance = TOLERANCE[wanted.dtype.name] * np.abs(wanted).max(initial=1.0)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)


def normal(*shapes, dtype="float64"):
    random = np.random.default_rng(1)
    return [random.normal(size=shape).astype(dtype) for shape in shapes]
