"""What is wrong with the gradients that the ranks step with, in the words of the student."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.judge.findings import WrongAnswer
from grader.judge.values import assert_every_rank, reduction_tolerance

from . import serial

Vectors = Sequence[NDArray[np.float32]]

_ALIKE = 1e-4
"""What was recorded is recognised when it is this close, as part of its length."""


def assert_mean(
    used: Vectors, local: Vectors, *, first_channels: int, step: int, label: str
) -> None:
    """Assert that every rank steps with the mean of all ranks' own gradients.

    used, local: one packed vector a rank. Raises WrongAnswer, saying what else they are if that
    can be recognised.
    """
    wide = [vector.astype(np.float64) for vector in local]
    mean = np.mean(wide, axis=0)
    # One rounding more than a sum has: the division.
    tolerance = reduction_tolerance(len(local) + 2, np.float32, np.mean(np.abs(wide), axis=0))
    tolerance = tolerance + float(np.finfo(np.float32).tiny)
    for rank, vector in enumerate(used):
        is_wrong = (np.abs(vector - mean) > tolerance).any()
        if is_wrong and (told := recognised(vector, wide, mean, rank, alike=_ALIKE)):
            raise WrongAnswer(f"{label}: in iteration {step}, rank {rank} steps with {told}")
    named = [serial.unpacked(vector, first_channels) for vector in used]
    for name, wanted in serial.unpacked(mean, first_channels).items():
        assert_every_rank(
            [arrays[name] for arrays in named],
            wanted,
            name=f"gradient of {name}",
            atol=serial.unpacked(tolerance, first_channels)[name],
            label=f"{label}, in iteration {step}, mean over the ranks",
        )


def recognised(
    used: NDArray[Any],
    local: Sequence[NDArray[Any]],
    mean: NDArray[Any],
    rank: int,
    *,
    alike: float,
) -> str:
    """Return what a gradient is that should be the mean, or nothing when it is nothing known.

    alike: how far it may be from what it is taken for, as part of the length of that.
    """

    def is_like(other: NDArray[Any]) -> bool:
        return bool(np.linalg.norm(used - other) <= alike * np.linalg.norm(other))

    if not used.any():
        return "a gradient that is zero"
    if is_like(local[rank]):
        return (
            "the gradient of its own batch alone; .grad has to hold the mean over the ranks when "
            "optimizer.step() begins"
        )
    for other, vector in enumerate(local):
        if is_like(vector):
            return f"the gradient of rank {other} alone, not with the mean over the ranks"
    factor = float(used @ mean / (mean @ mean)) if mean.any() else 0.0
    if is_like(factor * mean):
        return (
            f"{factor:.4g} times the mean over the ranks; the sum is to be divided by the number "
            f"of ranks, {len(local)}"
        )
    return ""


def assert_gradient_of_batch(
    found: NDArray[Any], wanted: NDArray[Any], *, tolerance: float, what: str, hint: str = ""
) -> None:
    """Assert that a whole gradient is the serial one, up to rounding.

    tolerance: length of the difference as part of the length of `wanted`. Single elements are not
    compared: rounding may decide a ReLU or a maximum otherwise, which changes a few of them
    visibly. Raises WrongAnswer.
    """
    length = float(np.linalg.norm(wanted))
    apart = float(np.linalg.norm(found - wanted))
    # What is not a number is no agreement: a training may have gone beyond all of them.
    if not apart <= tolerance * length:
        times = apart / length if length else np.inf
        raise WrongAnswer(
            f"{what} differs from the serial one by {times:.3g} times its length "
            f"(lengths {np.linalg.norm(found):.6g} and {length:.6g}){hint}"
        )
