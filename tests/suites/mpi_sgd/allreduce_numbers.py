"""The numbers that are reduced: exact for every op, telling in every sum.

Each op is exact in each dtype, in whatever order the ranks are taken: results are compared exactly.
Yet float64 values do not fit into float32, int64 values not into float64, and no float is a whole
number, so that a buffer of the wrong type shows. Numbers that are added have so many random bits
that a wrong sum tells whose numbers are in it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]

ONE_OF_ITS_OWN = "lambda x, y: x + y + x * y"
"""An op that no library has: (1 + x) (1 + y) - 1."""

DRAWN: Mapping[str, Callable[[Any, Values, Values], Values]] = {
    "np.add": lambda a, x, y: x + y,
    "lambda x, y: x + y + a * x * y": lambda a, x, y: x + y + a * x * y,
    "lambda x, y: x ^ y ^ a": lambda a, x, y: x ^ y ^ a,
}
"""Ops with a number in them that is drawn anew: no table has it. By their dtype, see drawn_op."""

SERIAL: Mapping[str, Callable[[Values, Values], Values]] = {
    "np.add": np.add,
    "lambda x, y: x + y": np.add,
    "MPI.SUM": np.add,
    "np.maximum": np.maximum,
    "np.multiply": np.multiply,
    "np.bitwise_xor": np.bitwise_xor,
    ONE_OF_ITS_OWN: lambda x, y: x + y + x * y,
}


def drawn_op(
    random: np.random.Generator, op: str, ranks: int, length: int
) -> tuple[int | float, list[Values]]:
    """Return the number in an op of DRAWN, and the array of each rank that the op needs."""
    if "^" in op:
        arrays = [drawn(random, "np.bitwise_xor", "int64", (length,)) for _ in range(ranks)]
        return int(random.integers(1, 2**62)), arrays
    if op == "np.add":
        return 0, [drawn(random, op, "float64", (length,)) for _ in range(ranks)]
    # Powers of two, so that all is exact; 1 + a x is -1, 1 or 2.
    number = float(random.choice([-1, 1]) * 2.0 ** random.integers(1, 12))
    return number, [random.choice([-2, 0, 1], length) / number for _ in range(ranks)]


def drawn(random: np.random.Generator, op: str, dtype: str, shape: tuple[int, ...]) -> Values:
    """Return one rank's array, as the op and the dtype need it."""
    whole = np.dtype(dtype).kind == "i"
    if op == "np.bitwise_xor":
        return random.integers(-(2**62), 2**62, shape, dtype=np.int64)
    if op == "np.multiply":
        return np.asarray(random.choice([-1, 1, 2] if whole else [-1, 0.5, 1, 2], shape), dtype)
    if op == ONE_OF_ITS_OWN:
        return np.asarray(random.choice([-2, 0, 1] if whole else [-0.5, 0, 1], shape), dtype)
    if whole:
        return np.asarray(random.integers(-(2**58), 2**58, shape), dtype=np.int64)
    if dtype == "float32":
        return np.asarray(random.integers(-(2**12), 2**12, shape) / 8, dtype=np.float32)
    return np.asarray(random.integers(-(2**40), 2**40, shape) / 2**30, dtype=np.float64)
