"""The schedule of an array of processing elements, as a student's call reported it.

For R x S kernel elements and E x F outputs the array has R x E processing elements. PE(r, e) keeps
kernel row r and slides it over ifmap row r + e (Chen, Emer, Sze, ISCA 2016). Per output column it
multiplies S taps, adds them, and adds the psum of PE(r + 1, e); PE(0, e) ends with output row e.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import WrongAnswer

Matrix = NDArray[np.int64]
Element = tuple[int, int]
Key = tuple[str, Element, int, int]
"""What an operation is for: op, element, output column, tap (0 for a psum)."""

_OPS = ("multiply", "add", "psum")


@dataclass(frozen=True)
class Sizes:
    """How large array and output are."""

    kernel_rows: int
    taps: int
    out_rows: int
    out_cols: int

    @classmethod
    def of(cls, ifmap: Matrix, kernel: Matrix) -> "Sizes":
        """Return the sizes for stride 1 and no padding."""
        rows, taps = kernel.shape
        return cls(rows, taps, ifmap.shape[0] - rows + 1, ifmap.shape[1] - taps + 1)

    @property
    def num_multiplies(self) -> int:
        """Return R S for each output."""
        return self.kernel_rows * self.taps * self.out_rows * self.out_cols

    @property
    def num_adds(self) -> int:
        """Return R S - 1 for each output, psums included."""
        return self.num_multiplies - self.out_rows * self.out_cols

    def leaves_in(self, out_col: int) -> int:
        """Return the cycle in which every output of a column is complete.

        2 S cycles a column, and the first psum comes up through the R - 2 elements between; where
        there is one row only, no psum is added: 2 S - 1 cycles a column.
        """
        if self.kernel_rows == 1:
            return (2 * self.taps - 1) * (out_col + 1)
        return 2 * self.taps * (out_col + 1) + self.kernel_rows - 2

    def all_keys(self) -> Iterator[Key]:
        """Yield what has to be done, each thing once, element by element."""
        for r in range(self.kernel_rows):
            for e in range(self.out_rows):
                for f in range(self.out_cols):
                    yield from (("multiply", (r, e), f, s) for s in range(self.taps))
                    yield from (("add", (r, e), f, s) for s in range(1, self.taps))
                    if r < self.kernel_rows - 1:
                        yield ("psum", (r, e), f, 0)


@dataclass(frozen=True)
class Work:
    """One operation of a schedule; fields that its op does not have are -1."""

    cycle: int
    pe: Element
    op: str
    out_col: int
    kernel: tuple[int, int]
    ifmap: tuple[int, int]
    tap: int
    psum_from: Element
    value: float

    @property
    def key(self) -> Key:
        """Return what this operation is for."""
        number = {"multiply": self.kernel[1], "add": self.tap, "psum": 0}[self.op]
        return (self.op, self.pe, self.out_col, number)

    @property
    def what(self) -> str:
        """Return what the element does, without cycle and element."""
        words = {
            "multiply": f"multiplies kernel{list(self.kernel)} by ifmap{list(self.ifmap)}",
            "add": f"adds the product of tap {self.tap}",
            "psum": f"adds the psum of PE{self.psum_from}",
        }[self.op]
        return f"{words} for output column {self.out_col}"

    @property
    def facts(self) -> dict[str, Any]:
        """Return what a finding about this operation is told by."""
        return {"cycle": self.cycle, "pe": self.pe, "op": self.op, "out_col": self.out_col}

    def __str__(self) -> str:
        return f"In cycle {self.cycle}, PE{self.pe} {self.what}"


def works(schedule: NDArray[np.int64], values: NDArray[np.float64]) -> list[Work]:
    """Return the operations of a schedule in the form that the probe reports, in time order.

    Raises WrongAnswer for numbers that are no operations: the probe does not report such.
    """
    if len(values) != len(schedule):
        num_values, num_operations = len(values), len(schedule)
        text = (
            f"The schedule was returned with {num_values} values for {num_operations} operations."
        )
        facts: dict[str, Any] = {"num_values": num_values, "num_operations": num_operations}
        raise WrongAnswer.of("schedule.values_do_not_fit", text, **facts)
    for number, op in enumerate(schedule[:, 3].tolist()):
        if not 0 <= op < len(_OPS):
            expected = f"expected 0 to {len(_OPS) - 1}, for {', '.join(_OPS)}"
            text = f"schedule[{number}] was returned with op {op}; {expected}."
            raise WrongAnswer.of("schedule.unknown_op", text, number=number, op=op)
    operations = [
        Work(
            cycle=row[0],
            pe=(row[1], row[2]),
            op=_OPS[row[3]],
            out_col=row[4],
            kernel=(row[5], row[6]),
            ifmap=(row[7], row[8]),
            tap=row[9],
            psum_from=(row[10], row[11]),
            value=value,
        )
        for row, value in zip(schedule.tolist(), values.tolist(), strict=True)
    ]
    return sorted(operations, key=lambda work: (work.cycle, work.pe))
