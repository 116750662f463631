"""What is wrong with the gradients that the ranks step with, in the words of the student."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import assert_every_rank, listed, reduction_tolerance

from . import serial

Vectors = Sequence[NDArray[Any]]

_FEW = 3
"""That many parameters are named."""


def is_like(found: NDArray[Any], wanted: NDArray[Any], *, alike: float) -> bool:
    """Return whether two vectors differ by at most `alike` times the length of the second.

    What is not a number is like nothing: a training may have gone beyond all of them.
    """
    return bool(np.linalg.norm(found - wanted) <= alike * np.linalg.norm(wanted))


def factor_of(found: NDArray[Any], wanted: NDArray[Any]) -> float:
    """Return the factor with which `wanted` comes closest to `found`."""
    return float(found @ wanted / (wanted @ wanted)) if wanted.any() else 0.0


def is_multiple(found: NDArray[Any], wanted: NDArray[Any], *, alike: float) -> bool:
    """Return whether a vector is another one times some factor that is not zero."""
    factor = factor_of(found, wanted)
    return factor != 0 and is_like(found, factor * wanted, alike=alike)


def assert_mean(
    used: Vectors, local: Vectors, *, first_channels: int, step: int, label: str
) -> None:
    """Assert that every rank steps with the mean of all ranks' own gradients, up to rounding.

    used, local: one packed vector a rank. Raises WrongAnswer.
    """
    wide = [vector.astype(np.float64) for vector in local]
    # One rounding more than a sum has: the division.
    tolerance = reduction_tolerance(len(local) + 2, np.float32, np.mean(np.abs(wide), axis=0))
    tolerance = tolerance + float(np.finfo(np.float32).tiny)
    named = [serial.unpacked(vector, first_channels) for vector in used]
    for name, wanted in serial.unpacked(np.mean(wide, axis=0), first_channels).items():
        assert_every_rank(
            [arrays[name] for arrays in named],
            wanted,
            name=f"gradient of {name}",
            atol=serial.unpacked(tolerance, first_channels)[name],
            label=f"{label}, in iteration {step}, mean over the ranks",
        )


def recognised(used: NDArray[Any], local: Vectors, rank: int, *, alike: float) -> str:
    """Return what a gradient is that should have equal parts of all ranks', or nothing.

    alike: how far it may be from what it is taken for, as part of the length of that.
    """
    if not used.any():
        return "a gradient that is zero"
    if is_like(used, local[rank], alike=alike):
        return (
            "the gradient of its own batch alone; .grad has to hold the mean over the ranks when "
            "optimizer.step() begins"
        )
    for other, vector in enumerate(local):
        if is_like(used, vector, alike=alike):
            return f"the gradient of rank {other} alone, not with the mean over the ranks"
    matrix = np.array(local, dtype=np.float64).T
    if not (np.isfinite(matrix).all() and np.isfinite(used).all()):
        return ""
    weights = np.linalg.lstsq(matrix, used.astype(np.float64), rcond=None)[0]
    if not is_like(used, matrix @ weights, alike=alike):
        return ""
    parts = [f"{round(weight, 2) + 0.0:g} of rank {r}'s" for r, weight in enumerate(weights)]
    return f"{listed(parts)} gradient; the mean takes {1 / len(local):.2g} of each"


def recognised_by_parameter(
    used: NDArray[Any], local: Vectors, rank: int, *, first_channels: int, alike: float
) -> str:
    """Return in which parameters a gradient is the mean over the ranks, or nothing."""
    mean = serial.unpacked(np.mean(local, axis=0), first_channels)
    found = serial.unpacked(used, first_channels)
    own = serial.unpacked(local[rank], first_channels)
    right = [n for n in found if is_like(found[n], mean[n], alike=alike)]
    left = [n for n in found if n not in right]
    if not right or not left or not all(is_like(found[n], own[n], alike=alike) for n in left):
        return ""
    few = listed(left[:_FEW]) if len(left) <= _FEW else ", ".join([*left[:_FEW], "..."])
    return (
        f"the mean over the ranks in {len(right)} of {len(found)} parameters only; in {few} it is "
        "the gradient of its own batch"
    )
