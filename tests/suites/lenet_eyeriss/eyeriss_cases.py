"""What the eyeriss part is called with: the sheet's example, and random numbers in many shapes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.api import Array, Case, Data, Text

from .schedule import Matrix

FILE = "eyeriss.py"
_SHEETS_IFMAP = [[1, 3, 9], [4, 5, 6], [7, 4, 9]]
_SHEETS_KERNEL = [[-1, 2], [2, -1]]
EXAMPLE, ANY_SIZE, NARROW = "the example", "any size", "narrow shapes"
_SHORT_SIDES, _LONG_KERNEL_SIDES, _LONG_OUTPUT_SIDES = range(2, 6), range(6, 10), range(10, 14)
_SQUARE_SIDES, _OUTPUT_SIDES = range(3, 7), range(2, 10)
"""Of the shapes that are drawn: an answer for the shapes below only is none."""
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

    shapes: tuple[tuple[int, int], tuple[int, int]] | None
    """(H, W) of the ifmap and (R, S) of the kernel; drawn when None, as the ifmap's signs are."""
    is_square: bool = False
    """Whether the kernel that is drawn is to be square; else it is a long one."""
    is_sheets: bool = False
    """Whether the numbers are those of the sheet."""

    @property
    def label(self) -> str:
        """Return the shapes."""
        if self.shapes is None:
            square = "ifmap of a random size, square kernel"
            return square if self.is_square else "ifmap and kernel of a random size"
        (height, width), (rows, taps) = self.shapes
        which = "the handout's example, " if self.is_sheets else ""
        return f"{which}ifmap {height} x {width}, kernel {rows} x {taps}"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return whole numbers without zero, which would hide what it is multiplied by."""
        ifmap_shape, kernel_shape = self.shapes or _drawn_shapes(random, is_square=self.is_square)
        ifmap = random.integers(1, 30, ifmap_shape, dtype=np.int64)
        signs = random.choice([-1, 1], kernel_shape)
        kernel = signs * random.integers(1, 10, kernel_shape, dtype=np.int64)
        if self.is_sheets:
            ifmap = np.array(_SHEETS_IFMAP, dtype=np.int64)
            kernel = np.array(_SHEETS_KERNEL, dtype=np.int64)
        if self.shapes is None:
            ifmap *= random.choice([-1, 1], ifmap_shape)
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
    has_drawn_shape: bool = False
    """Whether another shape follows these."""

    @property
    def label(self) -> str:
        """Return the call, and for what."""
        return f"sequential_cycles for {self.subject}"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the shapes as one array."""
        shapes = list(self.shapes)
        if self.has_drawn_shape:
            ifmap, kernel = _drawn_shapes(random, is_square=False)
            shapes.append((*ifmap, *kernel))
        array = np.array(shapes, dtype=np.int64)
        return [{"file": FILE, "shapes": array}] * ranks

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return that there is one number for each shape."""
        length = len(self.shapes) + self.has_drawn_shape
        return {"cycles": Array("int64", (length,)), "problem": Text()}


def _drawn_shapes(
    random: np.random.Generator, *, is_square: bool
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the shapes of an ifmap and a kernel: both long, or the kernel a square."""
    if is_square:
        rows = taps = int(random.choice(_SQUARE_SIDES))
        out_rows, out_cols = random.choice(_OUTPUT_SIDES, 2).tolist()
    else:
        rows, taps, out_rows, out_cols = (
            int(side)
            for long_sides in (_LONG_KERNEL_SIDES, _LONG_OUTPUT_SIDES)
            for side in random.permutation([random.choice(_SHORT_SIDES), random.choice(long_sides)])
        )
    return (out_rows + rows - 1, out_cols + taps - 1), (rows, taps)


def _convolutions(subject: str, *, is_sheets: bool = False) -> tuple[Convolution, ...]:
    return tuple(
        Convolution(
            "run_dataflow",
            subject=subject,
            shapes=shapes,
            is_sheets=is_sheets,
        )
        for shapes in _SHAPES[subject]
    )


# With the sheet's numbers and with others, so that an answer by heart is none.
CONVOLUTIONS = (
    *_convolutions(EXAMPLE, is_sheets=True),
    *_convolutions(EXAMPLE),
    *_convolutions(ANY_SIZE),
    Convolution("run_dataflow", subject=ANY_SIZE, shapes=None),
    Convolution("run_dataflow", subject=ANY_SIZE, shapes=None, is_square=True),
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
        has_drawn_shape=True,
    ),
)


def convolve(ifmap: Matrix, kernel: Matrix) -> Matrix:
    """Return the output: at each place the products of kernel and what lies under it, added up."""
    windows = np.lib.stride_tricks.sliding_window_view(ifmap, kernel.shape)
    return np.asarray(np.einsum("efrs,rs->ef", windows, kernel))
