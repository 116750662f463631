"""What a schedule of the array is made of: an Operation for each thing an element does."""

from typing import NamedTuple


class Operation(NamedTuple):
    """PE(pe_row, pe_col) does one multiply or one add in this cycle, for output column out_col.

    The output's row is pe_col, since a column of elements makes one row of the output. `value` is
    what comes out. What goes in depends on `op`, and only the fields named for it are given:

        "multiply"   kernel=(row, column) times ifmap=(row, column)
        "add"        the sum of this element's products before `tap`, plus its product of `tap`
                     (tap=1 adds the products of kernel columns 0 and 1)
        "psum"       this element's complete sum, plus the psum of PE psum_from=(row, column)

        Operation(1, 0, 0, "multiply", 0, -1, kernel=(0, 0), ifmap=(0, 0))
        Operation(3, 0, 0, "add", 0, 5, tap=1)
        Operation(4, 0, 0, "psum", 0, 8, psum_from=(1, 0))
    """

    cycle: int
    """1, 2, 3, ..."""
    pe_row: int
    pe_col: int
    op: str
    out_col: int
    value: float
    kernel: tuple[int, int] | None = None
    ifmap: tuple[int, int] | None = None
    tap: int | None = None
    psum_from: tuple[int, int] | None = None


def table(schedule):
    """Return the schedule as text: a line a cycle, a column an element, the value in each place."""
    elements = sorted({(record.pe_row, record.pe_col) for record in schedule})
    signs = {"multiply": "x", "add": "+", "psum": "++"}
    cells = {
        (record.cycle, record.pe_row, record.pe_col): f"{signs[record.op]} {record.value}"
        for record in schedule
    }
    lines = ["cycle" + "".join(f"{f'PE({row}, {column})':>12}" for row, column in elements)]
    for cycle in range(1, max((record.cycle for record in schedule), default=0) + 1):
        line = "".join(f"{cells.get((cycle, *element), ''):>12}" for element in elements)
        lines.append(f"{cycle:>5}{line}")
    return "\n".join(lines)
