"""Which optimizer explains the steps of a rank that are not those asked for."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import Finding, found, listed
from grader.oracles import SGD, Values

from .serial import OPTIMIZER, ends_of_steps

_ASKED = "the handout requires learning rate 0.1, momentum 0.9, and weight decay 1e-4"
_RELATIVE = 1e-2
"""An option of the optimizer is taken for the asked one up to this part of it."""
_ADAM_SPREAD = 0.01
"""Of Adam's first step: every number moves by the learning rate, but for a small constant."""


def seen_instead(
    rank: int,
    start: NDArray[Any],
    reached: NDArray[Any],
    gradients: NDArray[Any],
    *,
    tolerance: NDArray[Any],
    is_late: bool = False,
) -> Finding:
    """Return what explains the steps of a rank; that they are not SGD's where nothing does.

    start: packed parameters. reached, gradients: one vector for each step. tolerance: of each
    step, as a column. is_late: other steps came before, and nobody knows their momentum.
    """
    before = np.array([start, *reached], dtype=np.float64)
    unknown = found(
        "sgd.another_step",
        f"One of rank {rank}'s steps was not an SGD step.",
        help=_ASKED,
        rank=rank,
    )
    if not (np.isfinite(before).all() and np.isfinite(gradients).all()):
        return unknown
    moved = before[:-1] - before[1:]
    if not moved.any():
        text = f"None of rank {rank}'s steps changed a parameter."
        helps = "does the optimizer get these parameters, and do they still have gradients then?"
        return found("sgd.parameters_unchanged", text, help=helps, rank=rank)
    if is_late:
        return unknown
    large = np.abs(gradients[0]) > np.median(np.abs(gradients[0]))
    sizes = np.abs(moved[0][large])
    if sizes.size and 0 < sizes.std() <= _ADAM_SPREAD * sizes.mean():
        text = (
            f"Rank {rank} used Adam, not SGD: each parameter changed by about {sizes.mean():.2g}."
        )
        return found("sgd.steps_of_adam", text, help=_ASKED, rank=rank)
    for sgd in (replace(OPTIMIZER, nesterov=True), _fitted(moved, before, gradients)):
        ends = np.array(ends_of_steps(start, reached, gradients, sgd))
        options = _other_options(sgd)
        if options and (np.abs(ends - before[1:]) <= tolerance).all():
            how = "with Nesterov momentum" if sgd.nesterov else _worded(options)
            text = f"Rank {rank} used SGD {how}."
            named = [f"{name}={value:.2g}" for name, value in options.items()]
            return found("sgd.other_options", text, help=_ASKED, rank=rank, options=named)
    return unknown


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
    sgd = replace(OPTIMIZER, learning_rate=float(rate), weight_decay=decay)
    if len(moved) > 1:
        fresh = rate * (gradients[1] + decay * before[1])
        momentum = float((moved[1] - fresh) @ moved[0] / (moved[0] @ moved[0]))
        has_momentum = abs(momentum) >= _RELATIVE * OPTIMIZER.momentum
        sgd = replace(sgd, momentum=momentum if has_momentum else 0.0)
    return sgd


def _other_options(sgd: SGD) -> dict[str, float]:
    """Return the options that differ from those asked for."""
    options: dict[str, float] = {"nesterov": True} if sgd.nesterov else {}
    for name in ("learning_rate", "momentum", "weight_decay"):
        value, asked = getattr(sgd, name), getattr(OPTIMIZER, name)
        if abs(value - asked) > _RELATIVE * asked:
            options[name] = value
    return options


def _worded(options: dict[str, float]) -> str:
    """Return `without momentum, with learning rate 0.2`."""
    named = {name.replace("_", " "): value for name, value in options.items()}
    missing = [name for name, value in named.items() if value == 0]
    others = [f"{name} {value:.2g}" for name, value in named.items() if value != 0]
    words = [f"without {' and '.join(missing)}"] if missing else []
    return ", ".join([*words, *([f"with {listed(others)}"] if others else [])])
