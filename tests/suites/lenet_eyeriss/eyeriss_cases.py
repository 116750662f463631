"""What the eyeriss part is called with: the sheet's example, and random numbers in many shapes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.api import Array, Case, Data, Text

from .schedule import Matrix, Sizes

FILE = "eyeriss.py"
_SHEETS_IFMAP = [[1, 3, 9], [4, 5, 6], [7, 4, 9]]
_SHEETS_KERNEL = [[-1, 2], [2, -1]]
EXAMPLE, ANY_SIZE, NARROW = "the example", "any size", "narrow shapes"
_SHAPES = {
    EXAMPLE: [((3, 3), (2, 2))],
    ANY_SIZE: [((4, 4), (3, 2)), ((5, 4), (2, 3)), ((5, 6), (4, 3))],
    NARROW: [
        ((4, 5), (1, 3)),  # one row of elements: no psums
        ((5, 4), (3, 1)),  # one tap: no adds inside an element
        ((3, 4), (1, 1)),
        ((5, 3), (2, 3)),  # one output column
        ((3, 6), (3, 2)),  # one output row
        ((2, 2), (2, 2)),
    ],
}
"""By what a case is about: (H, W) of the ifmap, (R, S) of the kernel."""


@dataclass(frozen=True, kw_only=True)
class Convolution(Case):
    """One ifmap and one kernel."""

    ifmap_shape: tuple[int, int]
    kernel_shape: tuple[int, int]
    is_sheets: bool = False
    """Whether the numbers are those of the sheet."""

    @property
    def label(self) -> str:
        """Return the shapes."""
        (height, width), (rows, taps) = self.ifmap_shape, self.kernel_shape
        which = "the handout's example, " if self.is_sheets else ""
        return f"{which}ifmap {height} x {width}, kernel {rows} x {taps}"

    @property
    def sizes(self) -> Sizes:
        """Return the sizes of array and output."""
        (height, width), (rows, taps) = self.ifmap_shape, self.kernel_shape
        return Sizes(rows, taps, height - rows + 1, width - taps + 1)

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return whole numbers without zero, which would hide what it is multiplied by."""
        ifmap = random.integers(1, 30, self.ifmap_shape, dtype=np.int64)
        signs = random.choice([-1, 1], self.kernel_shape)
        kernel = signs * random.integers(1, 10, self.kernel_shape, dtype=np.int64)
        if self.is_sheets:
            ifmap = np.array(_SHEETS_IFMAP, dtype=np.int64)
            kernel = np.array(_SHEETS_KERNEL, dtype=np.int64)
        return [{"file": FILE, "ifmap": ifmap, "kernel": kernel}] * ranks

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of what the probe makes of ofmap and schedule."""
        return {
            "ofmap": Array("float64", (None, None), finite=False),
            "schedule": Array("int64", (None, 12)),
            "values": Array("float64", (None,), finite=False),
            **{f"{what}_problem": Text() for what in ("ofmap", "schedule", "operands")},
        }


@dataclass(frozen=True, kw_only=True)
class SequentialCycles(Case):
    """Several shapes, for the number of cycles of one element alone."""

    shapes: tuple[tuple[int, int, int, int], ...]
    """Rows and columns of ifmap, of kernel."""

    @property
    def label(self) -> str:
        """Return the call, and for what."""
        return f"sequential_cycles for {self.subject}"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the shapes as one array."""
        return [{"file": FILE, "shapes": np.array(self.shapes, dtype=np.int64)}] * ranks

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return that there is one number for each shape."""
        return {"cycles": Array("int64", (len(self.shapes),)), "problem": Text()}


def _convolutions(subject: str, *, is_sheets: bool = False) -> tuple[Convolution, ...]:
    return tuple(
        Convolution(
            "run_dataflow",
            subject=subject,
            ifmap_shape=ifmap,
            kernel_shape=kernel,
            is_sheets=is_sheets,
        )
        for ifmap, kernel in _SHAPES[subject]
    )


# With the sheet's numbers and with others, so that an answer by heart is none.
CONVOLUTIONS = (
    *_convolutions(EXAMPLE, is_sheets=True),
    *_convolutions(EXAMPLE),
    *_convolutions(ANY_SIZE),
    *_convolutions(NARROW),
)
COUNTS = (
    SequentialCycles("count_sequential_cycles", subject=EXAMPLE, shapes=((3, 3, 2, 2),)),
    SequentialCycles(
        "count_sequential_cycles",
        subject=ANY_SIZE,
        shapes=(
            *((*ifmap, *kernel) for ifmap, kernel in _SHAPES[ANY_SIZE] + _SHAPES[NARROW]),
            (32, 28, 5, 3),
        ),
    ),
)


def convolve(ifmap: Matrix, kernel: Matrix) -> Matrix:
    """Return the output: at each place the products of kernel and what lies under it, added up."""
    windows = np.lib.stride_tricks.sliding_window_view(ifmap, kernel.shape)
    return np.asarray(np.einsum("efrs,rs->ef", windows, kernel))
