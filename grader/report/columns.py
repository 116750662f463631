"""Sets cells of text in columns that fit a page, none of them wider than its longest cell."""

from collections.abc import Sequence
from dataclasses import dataclass

from grader.report.safe_text import visible
from grader.report.text_layout import abridged, num_columns, padded

_FEWEST_OF_TEXT, _FEWEST = 8, 4
"""Columns of the terminal: text is not cut below the first before numbers are, nothing below the
second."""
_GAP = "  "


@dataclass(frozen=True)
class Column:
    """A column of a table; where all its cells are empty it is left out."""

    title: str
    is_number: bool = False
    """Stands at the right, and is cut last: then it is beyond all that can be."""
    is_cut_at_start: bool = False
    """Of a long cell the end says more, as of a file with its line."""


def aligned(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return the head and one line a row, of at most `width` columns; 6 a column are enough.

    rows: each with one text a column, of any origin: what shows nothing is made visible.
    """
    cells = [[visible(cell) for cell in row] for row in rows]
    kept = [index for index in range(len(columns)) if any(row[index] for row in cells)]
    columns = [columns[index] for index in kept]
    table = [[each.title for each in columns], *([row[index] for index in kept] for row in cells)]
    widths = _fitting(columns, table, width)
    return [_line(columns, row, widths) for row in table]


def _fitting(columns: Sequence[Column], table: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the widths of the columns: the longest are cut, numbers after all text."""
    widths = [max(num_columns(row[index]) for row in table) for index in range(len(columns))]
    texts = [index for index, column in enumerate(columns) if not column.is_number]
    for cut, fewest in ((texts, _FEWEST_OF_TEXT), (range(len(columns)), _FEWEST)):
        while sum(widths) + len(_GAP) * (len(widths) - 1) > width:
            longest = max(cut, key=lambda index: widths[index], default=None)
            if longest is None or widths[longest] <= fewest:
                break
            widths[longest] -= 1
    return widths


def _line(columns: Sequence[Column], row: Sequence[str], widths: Sequence[int]) -> str:
    cells = []
    for column, cell, width in zip(columns, row, widths, strict=True):
        if column.is_number:
            cell = abridged(cell, width)
            cells.append(" " * (width - num_columns(cell)) + cell)
        else:
            cut = end_of(cell, width) if column.is_cut_at_start else abridged(cell, width)
            cells.append(padded(cut, width))
    return _GAP.join(cells).rstrip()


def end_of(text: str, width: int) -> str:
    """Return the text, or dots and its end, in at most `width` columns."""
    if num_columns(text) <= width:
        return text
    start = max(len(text) - width, 0)
    while num_columns(text[start:]) > width - 3:
        start += 1
    return "..." + text[start:]
