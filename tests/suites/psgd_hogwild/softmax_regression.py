"""The oracle of both trainings: softmax regression in numpy, written apart from the support files.

Parameters are one packed vector: the weights, shape (classes, features), row by row, then biases.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Labels = NDArray[np.int64]


def num_parameters(num_features: int, num_classes: int) -> int:
    """Return how many numbers a packed vector has."""
    return num_classes * (num_features + 1)


def unpacked(parameters: Vector, num_features: int) -> tuple[Vector, Vector]:
    """Return the weights, shape (classes, features), and the biases, shape (classes,)."""
    num_classes = len(parameters) // (num_features + 1)
    weights, biases = np.split(parameters, [num_classes * num_features])
    return weights.reshape(num_classes, num_features), biases


def loss(parameters: Vector, inputs: Vector, labels: Labels) -> float:
    """Return the mean of -log(probability of the right class)."""
    return float(-np.log(_probabilities(parameters, inputs)[np.arange(len(labels)), labels]).mean())


def gradient(parameters: Vector, inputs: Vector, labels: Labels) -> Vector:
    """Return the packed gradient of loss(): for logits z and p = softmax(z), dloss/dz = p - y."""
    at_logits = _probabilities(parameters, inputs)
    at_logits[np.arange(len(labels)), labels] -= 1
    at_logits /= len(labels)
    return np.concatenate([(at_logits.T @ inputs).ravel(), at_logits.sum(axis=0)])


def gradient_of_double_softmax(parameters: Vector, inputs: Vector, labels: Labels) -> Vector:
    """Return the packed gradient of the cross entropy of the probabilities, taken for logits."""
    probabilities = _probabilities(parameters, inputs)
    powers = np.exp(probabilities)
    at_probabilities = powers / powers.sum(axis=1, keepdims=True)
    at_probabilities[np.arange(len(labels)), labels] -= 1
    at_probabilities /= len(labels)
    inner = (at_probabilities * probabilities).sum(axis=1, keepdims=True)
    at_logits = probabilities * (at_probabilities - inner)
    return np.concatenate([(at_logits.T @ inputs).ravel(), at_logits.sum(axis=0)])


def train(start: Vector, lr: float, batches: Iterable[tuple[Vector, Labels]]) -> Vector:
    """Return the packed parameters after one step of SGD on each batch in turn."""
    parameters = np.asarray(start, dtype=np.float64)
    for inputs, labels in batches:
        parameters = parameters - lr * gradient(parameters, inputs, labels)
    return parameters


def _probabilities(parameters: Vector, inputs: Vector) -> Vector:
    weights, biases = unpacked(parameters, inputs.shape[1])
    logits = inputs @ weights.T + biases
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
