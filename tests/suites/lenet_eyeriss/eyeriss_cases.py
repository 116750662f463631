"""What the eyeriss part is called with: the sheet's example, and random numbers in many shapes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.suite.case import Array, Case, Data, Text

from .schedule import Matrix, Sizes

FILE = "eyeriss.py"
_SHEETS_IFMAP = [[1, 3, 9], [4, 5, 6], [7, 4, 9]]
_SHEETS_KERNEL = [[-1, 2], [2, -1]]
_SHAPES = [
    ((4, 4), (3, 2)),
    ((5, 4), (2, 3)),
    ((5, 6), (4, 3)),
    ((4, 5), (1, 3)),  # one row of elements: no psums
    ((5, 4), (3, 1)),  # one tap: no adds inside an element
    ((3, 4), (1, 1)),
    ((5, 3), (2, 3)),  # one output column
    ((3, 6), (3, 2)),  # one output row
    ((2, 2), (2, 2)),
]


@dataclass(frozen=True)
class Load(Case):
    """Loads the student's file and no more: what it lacks costs the calls that need it."""

    @property
    def label(self) -> str:
        """Return what is done."""
        return "loading the file"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the file."""
        return [{"file": FILE}] * ranks

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return that nothing comes back."""
        return {}


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
            "problem": Text(),
        }


@dataclass(frozen=True, kw_only=True)
class SequentialCycles(Case):
    """Several shapes, for the number of cycles of one element alone."""

    shapes: tuple[tuple[int, int, int, int], ...]
    """Rows and columns of ifmap, of kernel."""

    @property
    def label(self) -> str:
        """Return the call."""
        return "sequential_cycles"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the shapes as one array."""
        return [{"file": FILE, "shapes": np.array(self.shapes, dtype=np.int64)}] * ranks

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return that there is one number for each shape."""
        return {"cycles": Array("int64", (len(self.shapes),)), "problem": Text()}


CONVOLUTIONS = (
    Load("load"),
    Convolution("run_dataflow", ifmap_shape=(3, 3), kernel_shape=(2, 2), is_sheets=True),
    *(Convolution("run_dataflow", ifmap_shape=h, kernel_shape=r) for h, r in _SHAPES),
)
COUNTS = (
    Load("load"),
    SequentialCycles(
        "count_sequential_cycles",
        shapes=((3, 3, 2, 2), *((*ifmap, *kernel) for ifmap, kernel in _SHAPES), (32, 28, 5, 3)),
    ),
)


def convolve(ifmap: Matrix, kernel: Matrix) -> Matrix:
    """Return the output: at each place the products of kernel and what lies under it, added up."""
    windows = np.lib.stride_tricks.sliding_window_view(ifmap, kernel.shape)
    return np.asarray(np.einsum("efrs,rs->ef", windows, kernel))
