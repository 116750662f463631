"""The oracle's network: its gradient is the derivative of its loss, its steps are the formula's."""

import numpy as np
import pytest
from federated import lenet

RANDOM = np.random.default_rng(1)
PARAMETERS = RANDOM.uniform(-0.1, 0.1, lenet.NUM_PARAMETERS)
IMAGES = RANDOM.uniform(-1, 1, (3, 3, 32, 32))
LABELS = np.array([2, 0, 9])


def test_packing_is_the_order_of_the_state_dict_and_back():
    vector = np.arange(lenet.NUM_PARAMETERS, dtype=float)
    arrays = lenet.unpacked(vector)
    assert {name: array.shape for name, array in arrays.items()} == dict(lenet.SHAPES)
    assert arrays["conv1.weight"][0, 0, 0, 1] == 1
    assert np.array_equal(lenet.packed(arrays), vector)


@pytest.mark.parametrize("name", lenet.SHAPES)
def test_gradient_is_the_derivative_of_the_loss(name):
    """Along a random direction in each array, by a central difference."""
    arrays = {each: np.zeros(shape) for each, shape in lenet.SHAPES.items()}
    arrays[name] = RANDOM.normal(size=lenet.SHAPES[name])
    direction = lenet.packed(arrays) / np.linalg.norm(arrays[name])
    step = 1e-6
    above = lenet.loss(PARAMETERS + step * direction, IMAGES, LABELS)
    below = lenet.loss(PARAMETERS - step * direction, IMAGES, LABELS)
    slope = lenet.gradient(PARAMETERS, IMAGES, LABELS) @ direction
    assert slope == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-8)


def test_gradient_of_a_batch_is_the_mean_of_its_examples():
    whole = lenet.gradient(PARAMETERS, IMAGES, LABELS)
    each = [lenet.gradient(PARAMETERS, IMAGES[i : i + 1], LABELS[i : i + 1]) for i in range(3)]
    assert np.allclose(whole, np.mean(each, axis=0), atol=1e-12)


def test_it_computes_in_the_type_of_the_parameters():
    found = lenet.gradient(PARAMETERS.astype(np.float32), IMAGES, LABELS)
    assert found.dtype == np.float32
    assert np.allclose(found, lenet.gradient(PARAMETERS, IMAGES, LABELS), atol=1e-6)


def test_momentum_adds_nine_tenths_of_the_last_step():
    optimizer, ones = lenet.MomentumSGD(), np.ones(lenet.NUM_PARAMETERS)
    once = optimizer.step(np.zeros_like(ones), ones)
    twice = optimizer.step(once, ones)
    assert np.allclose(once, -0.01)
    assert np.allclose(twice - once, -0.019)


def test_the_gradient_used_is_read_back_from_a_step():
    optimizer, ones = lenet.MomentumSGD(), np.ones(lenet.NUM_PARAMETERS)
    before = optimizer.step(np.zeros_like(ones), ones)
    velocity = optimizer.velocity.copy()
    after = optimizer.step(before, 3 * ones)
    optimizer.velocity = velocity
    assert np.allclose(optimizer.gradient_used(before, after), 3)


def test_training_lowers_the_loss():
    end = lenet.train(PARAMETERS, [(IMAGES, LABELS)] * 8)
    assert lenet.loss(end, IMAGES, LABELS) < lenet.loss(PARAMETERS, IMAGES, LABELS)
