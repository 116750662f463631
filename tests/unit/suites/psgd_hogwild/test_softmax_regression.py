"""The oracle: its gradient is the derivative of its loss, a step goes down along it."""

import numpy as np
import pytest
from psgd_hogwild import softmax_regression

FEATURES, CLASSES = 4, 3


@pytest.fixture
def problem():
    random = np.random.default_rng(3)
    parameters = random.normal(size=softmax_regression.num_parameters(FEATURES, CLASSES))
    return parameters, random.normal(size=(7, FEATURES)), random.integers(CLASSES, size=7)


def test_the_gradient_is_the_derivative_of_the_loss(problem):
    """Each element agrees with a central difference."""
    parameters, inputs, labels = problem
    found = softmax_regression.gradient(parameters, inputs, labels)
    step = 1e-6
    for i in range(len(parameters)):
        aside = step * np.eye(len(parameters))[i]
        above, below = (
            softmax_regression.loss(parameters + sign * aside, inputs, labels) for sign in (1, -1)
        )
        assert found[i] == pytest.approx((above - below) / (2 * step), abs=1e-8)


def test_equal_logits_cost_the_logarithm_of_the_number_of_classes(problem):
    """With all parameters zero every class has the same probability."""
    parameters, inputs, labels = problem
    found = softmax_regression.loss(np.zeros_like(parameters), inputs, labels)
    assert found == pytest.approx(np.log(CLASSES))


def test_training_is_one_step_for_each_batch_in_turn(problem):
    """The second step begins where the first one ended."""
    parameters, inputs, labels = problem
    halves = [(inputs[:4], labels[:4]), (inputs[4:], labels[4:])]
    after_one = parameters - 0.1 * softmax_regression.gradient(parameters, *halves[0])
    after_two = after_one - 0.1 * softmax_regression.gradient(after_one, *halves[1])
    np.testing.assert_allclose(softmax_regression.train(parameters, 0.1, halves), after_two)


def test_large_logits_do_not_overflow():
    """The probabilities are computed relative to the largest logit."""
    parameters = np.array([1000.0, -1000.0, 0.0, 0.0])
    found = softmax_regression.loss(parameters, np.array([[1.0]]), np.array([0]))
    assert found == pytest.approx(0.0)
