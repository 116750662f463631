"""The oracle of both trainings: softmax regression, written apart from the support files.

Parameters are one packed vector: the weights, shape (classes, features), row by row, then biases.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from grader.oracles import SGD, Pass, cross_entropy, linear, softmax

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
    logits, _ = _logits(parameters, inputs)
    return cross_entropy(logits, labels)[0]


def gradient(parameters: Vector, inputs: Vector, labels: Labels) -> Vector:
    """Return the packed gradient of loss()."""
    logits, backward = _logits(parameters, inputs)
    _, at_logits = cross_entropy(logits, labels)
    _, at_weights, at_biases = backward(at_logits)
    return np.concatenate([at_weights.ravel(), at_biases])


def gradient_of_double_softmax(parameters: Vector, inputs: Vector, labels: Labels) -> Vector:
    """Return the packed gradient of the cross entropy of the probabilities, taken for logits."""
    logits, backward = _logits(parameters, inputs)
    probabilities, backward_to_logits = softmax(logits)
    _, at_probabilities = cross_entropy(probabilities, labels)
    _, at_weights, at_biases = backward(*backward_to_logits(at_probabilities))
    return np.concatenate([at_weights.ravel(), at_biases])


def train(start: Vector, lr: float, batches: Iterable[tuple[Vector, Labels]]) -> Vector:
    """Return the packed parameters after one step of SGD on each batch in turn."""
    sgd, parameters = SGD(lr), np.asarray(start, dtype=np.float64)
    for inputs, labels in batches:
        parameters, _ = sgd.step(parameters, gradient(parameters, inputs, labels))
    return parameters


def _logits(parameters: Vector, inputs: Vector) -> Pass:
    weights, biases = unpacked(parameters, inputs.shape[1])
    return linear(inputs, weights, biases)
