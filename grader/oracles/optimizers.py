"""Steps of optimizers, with the options and the defaults that torch.optim gives them.

An optimizer is its options. What it remembers from step to step goes in and out.
"""

from dataclasses import dataclass

import numpy as np

from grader.oracles.arrays import Values


@dataclass(frozen=True)
class SGD:
    """Stochastic gradient descent, with momentum, weight decay and Nesterov's look ahead.

    For gradient g, parameters w, velocity v: g <- g + decay w, v <- momentum v + g, and
    w <- w - rate v; Nesterov's w <- w - rate (g + momentum v) (Sutskever et al. 2013, section 2).
    """

    learning_rate: float
    momentum: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False

    def step(
        self, parameters: Values, gradient: Values, velocity: Values | float = 0.0
    ) -> tuple[Values, Values]:
        """Return the parameters after a step, and the velocity for the next one.

        parameters, gradient: of one shape. velocity: what the previous step returned; 0 at first.
        Raises ValueError for a gradient of another shape.
        """
        slope = _slope(parameters, gradient, self.weight_decay)
        velocity = self.momentum * velocity + slope if self.momentum else slope
        direction = slope + self.momentum * velocity if self.nesterov else velocity
        return parameters - self.learning_rate * direction, velocity


@dataclass(frozen=True)
class Moments:
    """What Adam remembers: running means of the gradients and of their squares."""

    num_steps: int
    first: Values
    second: Values


@dataclass(frozen=True)
class Adam:
    """Adam (Kingma and Ba 2015, algorithm 1); weight decay is added to the gradient."""

    learning_rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    weight_decay: float = 0.0

    def step(
        self, parameters: Values, gradient: Values, moments: Moments | None = None
    ) -> tuple[Values, Moments]:
        """Return the parameters after a step, and the moments for the next one.

        parameters, gradient: of one shape. moments: what the step before has returned; none at
        first. Raises ValueError for a gradient of another shape.
        """
        slope = _slope(parameters, gradient, self.weight_decay)
        before = moments or Moments(0, np.zeros_like(slope), np.zeros_like(slope))
        one, two = self.betas
        first = one * before.first + (1 - one) * slope
        second = two * before.second + (1 - two) * slope**2
        number = before.num_steps + 1
        # The means begin at zero: what is missing of them is made good.
        size = np.sqrt(second / (1 - two**number)) + self.epsilon
        direction = first / (1 - one**number) / size
        return parameters - self.learning_rate * direction, Moments(number, first, second)


def _slope(parameters: Values, gradient: Values, weight_decay: float) -> Values:
    """Return the gradient with what weight decay adds to it."""
    if np.shape(parameters) != np.shape(gradient):
        raise ValueError(
            f"gradient: found shape {np.shape(gradient)}, expected {np.shape(parameters)}; it has "
            "a number for each parameter"
        )
    return gradient + weight_decay * parameters if weight_decay else gradient
