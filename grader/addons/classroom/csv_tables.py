"""CSV: tables that people keep beside the hand-ins, as any spreadsheet writes them, and ours."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.model.errors import UsageError
from grader.report.safe_text import visible

_MAX_NUM_BYTES = 16 << 20
_FORMULA = re.compile('(^|;)([ "]*)([=+@\uff1d\uff0b\uff0d\uff20-])')
"""How a cell begins that is calculated; behind a semicolon, where that ends a cell."""
_SPACE = re.compile(r"\r\n|\s")
_COMMANDS = re.compile("[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What controls a screen or turns text round, and what no file can hold."""


def inert(cell: str) -> str:
    """Return a text as a cell: all of it visible, in one line, and no spreadsheet calculates it."""
    return _FORMULA.sub(r"\1\2'\3", visible(cell))


def inert_comment(text: str) -> str:
    """Return what a marker has typed as a cell: in one line, and otherwise as it was.

    An emoji, for one, holds characters that show nothing by themselves.
    """
    line = _SPACE.sub(" ", text)
    return _FORMULA.sub(r"\1\2'\3", _COMMANDS.sub(lambda found: visible(found[0]), line))


def table_text(rows: Iterable[Sequence[str]]) -> str:
    """Return a CSV of rows, the head first: every cell is inert, and there is a line for each."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([inert(cell) for cell in row] for row in rows)
    return text.getvalue()


def read_table(
    file: Path, *, required: Sequence[str] = (), known: Sequence[str] | None = None
) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of a CSV with their line numbers, by the columns that its head names.

    known: all columns that it may have; None for any. Raises UsageError for columns that are
    missing or unknown, and for lines of another length.
    """
    try:
        with file.open("rb") as stream:
            text = stream.read(_MAX_NUM_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror}; expected a CSV, named in class.toml "
            "relative to that file"
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not text in UTF-8; save it as CSV in UTF-8") from None
    lines = _lines(text, delimiter_of(text), file)
    head = [each.strip().lower() for each in lines[0][1]] if lines else []
    missing = [f"has no column {each}" for each in required if each not in head]
    others = [each for each in head if known is not None and each not in known]
    unknown = [f"has a column {each!r:.40}" for each in others]
    twice = [f"has two columns called {each}" for each in known or () if head.count(each) > 1]
    for problem in (*missing, *unknown, *twice):
        columns = ", ".join(known or required)
        raise UsageError(f"{file} {problem}; expected a header with columns of {columns}")
    rows = []
    for number, row in lines[1:]:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(head):
            raise UsageError(f"{file}, line {number}: has {len(row)} cells; expected {len(head)}")
        rows.append((number, dict(zip(head, map(str.strip, row), strict=True))))
    return rows


def _lines(text: str, delimiter: str, file: Path) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise UsageError(
            f"{file}, line {reader.line_num}: is not CSV ({error}); save it as CSV in UTF-8"
        ) from None


def delimiter_of(text: str) -> str:
    """Return what stands between the cells of a CSV, by its first line."""
    first = text.partition("\n")[0]
    # Where numbers have a decimal comma, spreadsheets write semicolons; a title may have commas.
    return ";" if first.count(";") > first.count(",") else ","
