"""What is wrong with the gradients that the ranks step with, in the words of the student."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import Finding, assert_every_rank, found, listed, reduction_tolerance

from . import serial
from .steps import explained

Vectors = Sequence[NDArray[Any]]

_FEW = 3
"""That many parameters are named."""


def is_like(got: NDArray[Any], wanted: NDArray[Any], *, alike: float) -> bool:
    """Return whether two vectors differ by at most `alike` times the length of the second.

    What is not a number is like nothing: a training may have gone beyond all of them.
    """
    return bool(np.linalg.norm(got - wanted) <= alike * np.linalg.norm(wanted))


def factor_of(got: NDArray[Any], wanted: NDArray[Any]) -> float:
    """Return the factor with which `wanted` comes closest to `got`."""
    return float(got @ wanted / (wanted @ wanted)) if wanted.any() else 0.0


def is_multiple(got: NDArray[Any], wanted: NDArray[Any], *, alike: float) -> bool:
    """Return whether a vector is another one times some factor that is not zero."""
    factor = factor_of(got, wanted)
    return factor != 0 and is_like(got, factor * wanted, alike=alike)


def assert_mean(used: Vectors, local: Vectors, *, first_channels: int, step: int) -> None:
    """Assert that every rank steps with the mean of all ranks' own gradients, up to rounding.

    used, local: one packed vector a rank. Raises WrongAnswer.
    """
    wide = [vector.astype(np.float64) for vector in local]
    # One rounding more than a sum has: the division.
    tolerance = reduction_tolerance(len(local) + 2, np.float32, np.mean(np.abs(wide), axis=0))
    tolerance = tolerance + float(np.finfo(np.float32).tiny)
    named = [serial.unpacked(vector, first_channels) for vector in used]
    with explained(partial(_not_the_mean, step)):
        for name, wanted in serial.unpacked(np.mean(wide, axis=0), first_channels).items():
            assert_every_rank(
                [arrays[name] for arrays in named],
                wanted,
                name=f"gradient of {name}",
                atol=serial.unpacked(tolerance, first_channels)[name],
            )


def _not_the_mean(step: int, rank: int) -> Finding:
    text = f"In iteration {step}, rank {rank} did not use the mean of all ranks' gradients."
    return found("step.not_the_mean", text, rank=rank, iteration=step)


def recognised(
    used: NDArray[Any], local: Vectors, rank: int, step: int, *, alike: float
) -> Finding | None:
    """Return what a gradient is that should have equal parts of all ranks', or nothing.

    alike: how far it may be from what it is taken for, as part of the length of that.
    """
    stepped = f"In iteration {step}, rank {rank} took its step with"
    facts: dict[str, Any] = {"rank": rank, "iteration": step}
    if not used.any():
        return found("step.zero_gradient", f"{stepped} a zero gradient.", **facts)
    if is_like(used, local[rank], alike=alike):
        text = f"{stepped} only its own batch's gradient."
        helps = ".grad must hold the mean over the ranks when optimizer.step() begins"
        return found("step.own_gradient", text, help=helps, **facts)
    for other, vector in enumerate(local):
        if is_like(used, vector, alike=alike):
            text = f"{stepped} only rank {other}'s gradient."
            helps = "where does your code lose the other ranks' gradients?"
            return found("step.other_ranks_gradient", text, help=helps, other=other, **facts)
    matrix = np.array(local, dtype=np.float64).T
    if not (np.isfinite(matrix).all() and np.isfinite(used).all()):
        return None
    weights = np.linalg.lstsq(matrix, used.astype(np.float64), rcond=None)[0]
    if not is_like(used, matrix @ weights, alike=alike):
        return None
    rounded = [round(float(weight), 2) + 0.0 for weight in weights]
    parts = [f"{part:g} of rank {each}'s" for each, part in enumerate(rounded)]
    text = f"{stepped} {listed(parts)} gradient; the mean contains {1 / len(local):.2g} of each."
    return found("step.unequal_parts", text, parts=rounded, **facts)


def recognised_by_parameter(
    used: NDArray[Any], local: Vectors, rank: int, step: int, *, first_channels: int, alike: float
) -> Finding | None:
    """Return in which parameters a gradient is not the mean over the ranks, or nothing."""
    mean = serial.unpacked(np.mean(local, axis=0), first_channels)
    got = serial.unpacked(used, first_channels)
    own = serial.unpacked(local[rank], first_channels)
    averaged = [n for n in got if is_like(got[n], mean[n], alike=alike)]
    left = [n for n in got if n not in averaged]
    if not averaged or not left or not all(is_like(got[n], own[n], alike=alike) for n in left):
        return None
    more = [f"{len(left) - _FEW} more"] if len(left) > _FEW else []
    only = f"only {len(averaged)} of {len(got)} parameters"
    text = f"In iteration {step}, rank {rank} used the mean for {only}. "
    text += f"It used its own batch's gradients for {listed([*left[:_FEW], *more])}."
    helps = "do you average the gradient of every parameter that the optimizer updates?"
    facts: dict[str, Any] = {"rank": rank, "iteration": step, "averaged": len(averaged)}
    return found("step.parameters_left_out", text, help=helps, left_out=left, **facts)
