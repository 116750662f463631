"""The updates of an asynchronous parameter server, as its workers saw them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Value = NDArray[np.float64]
Arrays = Mapping[str, Value]


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
