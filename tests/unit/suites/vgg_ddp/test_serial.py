"""SGD with momentum and weight decay, and packed parameters."""

import numpy as np
from vgg_ddp import layers, serial


def test_momentum_gathers_gradients_and_decay():
    """Two steps by hand."""
    start, gradients = np.array([1.0]), np.array([[2.0], [3.0]])
    first = 1 - 0.1 * (2 + 1e-4)
    second = first - 0.1 * (0.9 * (2 + 1e-4) + 3 + 1e-4 * first)
    ends = serial.sgd(start, np.array([[first], [second]]), gradients)
    np.testing.assert_allclose(ends, [[first], [second]], rtol=1e-14)


def test_each_step_starts_from_where_the_rank_was_seen():
    """A wrong step before does not make the next one wrong, but for what momentum keeps."""
    ends = serial.sgd(np.array([1.0]), np.array([[5.0], [0.0]]), np.array([[0.0], [0.0]]))
    assert ends[1][0] == 5.0 - 0.1 * (0.9 * 1e-4 + 1e-4 * 5.0)


def test_packing_and_unpacking_are_inverse():
    """Every element keeps its place."""
    vector = np.arange(serial.num_parameters(2), dtype=np.float64)
    named = serial.unpacked(vector, 2)
    assert {name: array.shape for name, array in named.items()} == layers.shapes(2)
    np.testing.assert_array_equal(serial.packed(named, 2), vector)
