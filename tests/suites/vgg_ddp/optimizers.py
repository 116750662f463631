"""Which optimizer explains the steps of a rank that are not those asked for."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import listed
from grader.oracles import SGD, Values

from .serial import OPTIMIZER, ends_of_steps

_RELATIVE = 1e-2
"""An option of the optimizer is taken for the asked one up to this part of it."""
_ADAM_SPREAD = 0.01
"""Of Adam's first step: every number moves by the learning rate, but for a small constant."""


def seen_instead(
    start: NDArray[Any], reached: NDArray[Any], gradients: NDArray[Any], *, tolerance: float
) -> str:
    """Return what explains the steps of one rank, or nothing where nothing known does.

    start: packed parameters. reached, gradients: one vector for each step. tolerance: of each
    parameter.
    """
    before = np.array([start, *reached], dtype=np.float64)
    if not (np.isfinite(before).all() and np.isfinite(gradients).all()):
        return ""
    moved = before[:-1] - before[1:]
    if not moved.any():
        return "no parameter changes: are they the ones that the optimizer was made with?"
    large = np.abs(gradients[0]) > np.median(np.abs(gradients[0]))
    sizes = np.abs(moved[0][large])
    if sizes.size and 0 < sizes.std() <= _ADAM_SPREAD * sizes.mean():
        return f"every number moves by {sizes.mean():.2g}: these are Adam's steps, not SGD's"
    for sgd in (replace(OPTIMIZER, nesterov=True), _fitted(moved, before, gradients)):
        ends = np.array(ends_of_steps(start, reached, gradients, sgd))
        if (np.abs(ends - before[1:]) <= tolerance).all():
            how = "with Nesterov's momentum" if sgd.nesterov else _worded(sgd)
            return f"these are steps {how}"
    return ""


def _fitted(moved: Values, before: Values, gradients: NDArray[Any]) -> SGD:
    """Return SGD with the options that come closest, by least squares.

    The first step has no history, and tells rate and decay; the second one tells the momentum.
    """
    columns = np.array([gradients[0], before[0]], dtype=np.float64).T
    rate, decayed = np.linalg.lstsq(columns, moved[0], rcond=None)[0]
    if rate == 0:
        return OPTIMIZER
    is_decayed = abs(decayed / rate) >= _RELATIVE * OPTIMIZER.weight_decay
    decay = float(decayed / rate) if is_decayed else 0.0
    found = replace(OPTIMIZER, learning_rate=float(rate), weight_decay=decay)
    if len(moved) > 1:
        fresh = rate * (gradients[1] + decay * before[1])
        momentum = float((moved[1] - fresh) @ moved[0] / (moved[0] @ moved[0]))
        has_momentum = abs(momentum) >= _RELATIVE * OPTIMIZER.momentum
        found = replace(found, momentum=momentum if has_momentum else 0.0)
    return found


def _worded(sgd: SGD) -> str:
    """Return the options that differ from those asked for."""
    differing: dict[str, float] = {}
    for name in ("learning_rate", "momentum", "weight_decay"):
        value, asked = getattr(sgd, name), getattr(OPTIMIZER, name)
        if abs(value - asked) > _RELATIVE * asked:
            differing[name.replace("_", " ")] = value
    missing = [name for name, value in differing.items() if value == 0]
    others = [f"{name} {value:.2g}" for name, value in differing.items() if value != 0]
    words = [f"without {' and '.join(missing)}"] if missing else []
    return ", ".join([*words, *([f"with {listed(others)}"] if others else [])])
