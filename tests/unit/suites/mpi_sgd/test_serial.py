"""The oracle of the fits is held against torch and against arithmetic."""

import numpy as np
import pytest
import torch
from mpi_sgd import serial

SIZES = (4, 3, 5, 2)


def example(seed: int, batch: int = 6) -> tuple[serial.Vector, serial.Vector, serial.Vector]:
    random = np.random.default_rng(seed)
    parameters = random.standard_normal(serial.num_parameters(SIZES))
    return parameters, random.standard_normal((batch, 4)), random.random((batch, 2))


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_that_of_torch(seed: int) -> None:
    parameters, inputs, labels = example(seed)
    vector = torch.from_numpy(parameters).requires_grad_()
    arrays = serial.unpacked(vector, SIZES)
    outputs = torch.from_numpy(inputs)
    for layer in range(1, len(SIZES)):
        outputs = torch.sigmoid(outputs @ arrays[f"weights[{layer}]"] + arrays[f"biases[{layer}]"])
    (0.5 * (outputs - torch.from_numpy(labels)) ** 2).sum().backward()
    gradient = serial.gradient(parameters, SIZES, inputs, labels)
    np.testing.assert_allclose(gradient, vector.grad.numpy(), rtol=0, atol=1e-14)


def test_a_gradient_over_a_batch_is_the_sum_over_its_rows() -> None:
    parameters, inputs, labels = example(7)
    rows = [
        serial.gradient(parameters, SIZES, inputs[[row]], labels[[row]])
        for row in range(len(inputs))
    ]
    whole = serial.gradient(parameters, SIZES, inputs, labels)
    np.testing.assert_allclose(whole, np.sum(rows, axis=0), rtol=1e-12)


def test_training_takes_one_step_per_batch_in_order() -> None:
    parameters, inputs, labels = example(1)
    batches = [(inputs[:3], labels[:3]), (inputs[3:], labels[3:])]
    by_hand = parameters
    for x, y in batches:
        by_hand = by_hand - 0.1 * serial.gradient(by_hand, SIZES, x, y)
    np.testing.assert_array_equal(serial.train(parameters, SIZES, 0.1, batches), by_hand)
    assert not np.array_equal(serial.train(parameters, SIZES, 0.1, batches[::-1]), by_hand)


def test_packed_parameters_come_apart_under_their_names() -> None:
    packed = np.arange(serial.num_parameters(SIZES), dtype=np.float64)
    arrays = serial.unpacked(packed, SIZES)
    assert {name: array.shape for name, array in arrays.items()} == {
        "weights[1]": (4, 3),
        "weights[2]": (3, 5),
        "weights[3]": (5, 2),
        "biases[1]": (3,),
        "biases[2]": (5,),
        "biases[3]": (2,),
    }
    np.testing.assert_array_equal(serial.packed(arrays, SIZES), packed)
