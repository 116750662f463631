"""Small functions of the numpy network: activation, start weights, empty gradients, batches."""

from itertools import pairwise

import numpy as np


def sigmoid(x):
    """Return 1 / (1 + exp(-x)), element by element."""
    return 1.0 / (1.0 + np.exp(-x))


def sigmoid_prime(x):
    """Return the derivative of the sigmoid at x (not at sigmoid(x)), element by element."""
    y = sigmoid(x)
    return y * (1.0 - y)


def xavier_initialization(m, n):
    """Return m x n random weights, uniform in [-1/sqrt(m), 1/sqrt(m)) (Glorot and Bengio 2010).

    The sum of m inputs of size one then stays of size one, where the sigmoid is not flat.
    """
    bound = 1.0 / np.sqrt(m)
    return np.random.uniform(-bound, bound, size=(m, n))


def random_weights(sizes):
    """Return start weights of the layers 1, 2, ...: shapes (sizes[i-1], sizes[i]), no dummy."""
    return [xavier_initialization(m, n) for m, n in pairwise(sizes)]


def zeros_weights(sizes):
    """Return zeros in the shapes of random_weights(sizes): one shorter than sizes, no dummy."""
    return [np.zeros((m, n)) for m, n in pairwise(sizes)]


def zeros_biases(sizes):
    """Return one vector of zeros per layer, the input layer included: as long as sizes."""
    return [np.zeros(n) for n in sizes]


def create_batches(data, labels, batch_size):
    """Return pairs of batch_size rows of data and labels, in order; the last may be shorter."""
    return [
        (data[start : start + batch_size], labels[start : start + batch_size])
        for start in range(0, len(data), batch_size)
    ]


def add_elementwise(list1, list2):
    """Return the list of sums of two lists of arrays: list1[i] + list2[i]."""
    return [a + b for a, b in zip(list1, list2, strict=True)]
