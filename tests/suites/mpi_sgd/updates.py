"""The updates of an asynchronous parameter server, as its workers saw them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Value = NDArray[np.float64]
Arrays = Mapping[str, Value]

_LEAST_FACTOR = 1e-5
"""Least squares lose some digits: less of a step is none of it."""


@dataclass(frozen=True, eq=False)
class Update:
    """One batch of one worker."""

    rank: int
    batch: int
    """0, 1, 2, ... among the batches of this worker."""
    before: Arrays
    """The parameters its forward pass saw."""
    gradient: Arrays
    """The oracle's gradient of the batch at `before`."""
    after: Arrays
    """The parameters the worker held next."""

    def __str__(self) -> str:
        return f"rank {self.rank}'s batch {self.batch}"


def same(found: Value, expected: Value, rtol: float) -> bool:
    """Return whether two arrays agree to rtol of the largest element, or of 1 if it is smaller."""
    largest = float(np.max(np.abs(expected), initial=1.0))
    return found.shape == expected.shape and bool(
        (np.abs(found - expected) <= rtol * largest).all()
    )


def factors_of(change: Value, steps: Sequence[Value]) -> list[float]:
    """Return how often each step is in a change that is nothing but their sum; zeros are exact.

    change, steps: of one shape. Empty where the change is something else or none at all, or where
    there are too few elements to tell.
    """
    if change.size <= len(steps) or not steps or not np.isfinite([change, *steps]).all():
        return []
    columns = np.stack([step.ravel() for step in steps], axis=1)
    factors = np.linalg.lstsq(columns, change.ravel(), rcond=None)[0]
    left_over = np.abs(columns @ factors - change.ravel()).max()
    largest = max(np.abs(columns).max(), np.abs(change).max())
    if left_over > _LEAST_FACTOR * largest or np.abs(factors).max() < _LEAST_FACTOR:
        return []
    return [float(factor) if abs(factor) > _LEAST_FACTOR else 0.0 for factor in factors]
