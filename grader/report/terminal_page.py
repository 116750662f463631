"""How a report looks in a terminal: its columns, its signs, and a colour on top where wanted."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.model.report import Verdict
from grader.report.safe_text import disarm, one_line, visible
from grader.report.words import VERDICT_WORDS

_FEWEST_OF_TEXT, _FEWEST = 8, 4
"""Columns of the terminal: text of a table is not cut below the first before numbers are, nothing
below the second."""
_GAP = "  "


def num_columns(text: str) -> int:
    """Return how many columns a terminal needs for the text."""
    return len(text) + sum(unicodedata.east_asian_width(char) in "WF" for char in text)


def wrap(text: str, width: int) -> list[str]:
    """Return the text in lines of at most `width` columns, broken at spaces where there are any."""
    lines = []
    line = ""
    for word in text.split():
        if line and num_columns(line) + 1 + num_columns(word) <= width:
            line += f" {word}"
            continue
        if line:
            lines.append(line)
        *full, line = cut(word, width)
        lines += full
    return [*lines, line] if line else lines


def cut(line: str, width: int) -> list[str]:
    """Return the line in pieces of at most `width` columns, its spaces kept; `width` is over 8."""
    pieces = []
    rest = disarm(line)
    while num_columns(rest) > width:
        piece = fitting(rest, width)
        pieces.append(piece)
        rest = disarm(rest[len(piece) :])
    return [*pieces, rest]


def fitting(text: str, width: int) -> str:
    """Return as much of the text's beginning as fits into `width` columns."""
    end = min(len(text), width)
    while num_columns(text[:end]) > width:
        end -= 1
    return text[:end]


def abridged(text: str, width: int) -> str:
    """Return the text, or a beginning of it and dots, in at most `width` columns."""
    if num_columns(text) <= width:
        return text
    return fitting(text, max(width - 3, 0)).rstrip() + "..."


def end_of(text: str, width: int) -> str:
    """Return the text, or dots and its end, in at most `width` columns."""
    if num_columns(text) <= width:
        return text
    start = max(len(text) - width, 0)
    while num_columns(text[start:]) > width - 3:
        start += 1
    return "..." + text[start:]


def padded(text: str, width: int) -> str:
    """Return the text with spaces after it up to `width` columns."""
    return text + " " * (width - num_columns(text))


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

    rows: each with one text a column, of any origin: what shows nothing is made visible. The
    longest columns are cut, numbers after all text.
    """
    shown = [
        (column, [column.title, *map(visible, cells)])
        for column, cells in zip(columns, zip(*rows, strict=True), strict=True)
        if any(cells)
    ]
    widths = [max(map(num_columns, texts)) for _, texts in shown]
    of_text = [index for index, (column, _) in enumerate(shown) if not column.is_number]
    for indices, fewest in ((of_text, _FEWEST_OF_TEXT), (range(len(shown)), _FEWEST)):
        while sum(widths) + len(_GAP) * (len(widths) - 1) > width:
            longest = max(indices, key=widths.__getitem__, default=None)
            if longest is None or widths[longest] <= fewest:
                break
            widths[longest] -= 1
    cells = [
        [_cell(text, column, width) for text in texts]
        for (column, texts), width in zip(shown, widths, strict=True)
    ]
    return [_GAP.join(line).rstrip() for line in zip(*cells, strict=True)]


def _cell(text: str, column: Column, width: int) -> str:
    text = end_of(text, width) if column.is_cut_at_start else abridged(text, width)
    space = " " * (width - num_columns(text))
    return space + text if column.is_number else text + space


BOLD, DIM, RED, GREEN, YELLOW, MAGENTA = "1", "2", "31", "32", "33", "35"
INDENT = "  "

_SIGNS = {
    Verdict.ACCEPTED: ("✓", "+"),
    Verdict.SKIPPED: ("~", "~"),
    Verdict.NOT_ATTEMPTED: ("○", "o"),
    Verdict.NOT_PROVEN: ("?", "?"),
    Verdict.JUDGE_ERROR: ("!", "!"),
}
_FAILED = ("✗", "x")
_COLOURS = {
    Verdict.ACCEPTED: GREEN,
    Verdict.SKIPPED: YELLOW,
    Verdict.NOT_ATTEMPTED: YELLOW,
    Verdict.NOT_PROVEN: YELLOW,
    Verdict.JUDGE_ERROR: MAGENTA,
}


@dataclass(frozen=True)
class Page:
    """What the terminal can show, and how much the reader wants to see."""

    colour: bool
    plain: bool
    """ASCII signs and no colour, whatever `colour` says."""
    width: int
    verbose: bool

    def paint(self, text: str, *codes: str) -> str:
        """Return the text in a colour, where there is colour."""
        if self.plain or not self.colour or not text:
            return text
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m"

    def verdict(self, verdict: Verdict) -> str:
        """Return sign and words of a verdict, in its colour."""
        return self.tinted(f"{self._sign(verdict)} {VERDICT_WORDS[verdict]}", verdict)

    def sign(self, verdict: Verdict) -> str:
        """Return the sign of a verdict, in its colour."""
        return self.tinted(self._sign(verdict), verdict)

    def paragraph(self, text: str, first: str = INDENT, later: str = "") -> list[str]:
        """Return wrapped text behind `first`, later lines behind `later` or as many spaces."""
        later = later or " " * num_columns(first)
        width = self.width - max(num_columns(first), num_columns(later))
        lines = wrap(text, width)
        return [f"{later if index else first}{line}" for index, line in enumerate(lines)]

    def message(self, text: str, first: str = INDENT) -> list[str]:
        """Return the message of a failure; of a deadlock with a line for each rank that waits."""
        before, found, chain = one_line(text).partition("deadlock: ")
        if "; " not in chain:
            return self.paragraph(f"{before}{found}{chain}", first)
        lines = self.paragraph(f"{before}deadlock:", first)
        for clause in chain.split("; "):
            lines += self.paragraph(clause, first + INDENT, first + INDENT * 2)
        return lines

    def quoted(self, lines: Iterable[str]) -> list[str]:
        """Return lines that a submission printed, marked as such."""
        bar = self.paint("|" if self.plain else "│", DIM)
        return [f"{INDENT}{bar} {line}".rstrip() for line in lines]

    def _sign(self, verdict: Verdict) -> str:
        return _SIGNS.get(verdict, _FAILED)[self.plain]

    def tinted(self, text: str, verdict: Verdict) -> str:
        """Return the text in the colour of a verdict."""
        return self.paint(text, BOLD, _COLOURS.get(verdict, RED))
