"""Pauses in passes of drawn iterations, which show whether ranks compute at the same time."""

import numpy as np

from grader.rank.toolbox import Pauses

_NUM_AT_ONCE = 3
"""How often a rank pauses at one place, without a break: ranks may begin a little apart."""


class DrawnPauses:
    """Pauses of a rank in the forward and in the backward pass of drawn iterations."""

    def __init__(self, drawn):
        """drawn: pairs of an iteration and the number of a parameter in its network.

        In backward, the rank pauses when the gradient of that parameter is there: what runs before
        or after the pass itself, such as a wait for another rank, is no part of it.
        """
        self._drawn = dict(np.asarray(drawn).tolist())
        number = _NUM_AT_ONCE * len(self._drawn)
        self._in_forward, self._in_backward = Pauses(number), Pauses(number)
        self._forward = set(self._drawn)

    def forward(self, iteration):
        """Pause, if the iteration is drawn and this is its first forward pass."""
        if iteration in self._forward:
            self._forward.discard(iteration)
            _pause(self._in_forward)

    def backward(self, iteration, network):
        """Let the first backward pass of the iteration pause, if that is drawn."""
        number = self._drawn.pop(iteration, None)
        parameters = [each for each in network.parameters() if each.requires_grad]
        if number is None or not parameters:
            return
        parameter = parameters[number % len(parameters)]

        def pause(_):
            handle.remove()
            _pause(self._in_backward)

        handle = parameter.register_hook(pause)

    def results(self):
        """Return when the pauses began and ended, in the order of iterations."""
        return {
            "paused_forward_ns": self._in_forward.spans_ns(),
            "paused_backward_ns": self._in_backward.spans_ns(),
        }


def _pause(pauses):
    for _ in range(_NUM_AT_ONCE):
        pauses.pause()
