"""Tables that people keep beside the hand-ins: CSV as spreadsheets of any country write it."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from grader.errors import UsageError

_MAX_NUM_BYTES = 16 << 20


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
            f"{file} cannot be read: {error.strerror}; expected a CSV, which class.toml names by "
            "its place beside it"
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not text in UTF-8; save it as CSV in UTF-8") from None
    lines = _lines(text, delimiter_of(text), file)
    head = [each.strip().lower() for each in lines[0][1]] if lines else []
    missing = [f"has no column {each}" for each in required if each not in head]
    others = [each for each in head if known is not None and each not in known]
    unknown = [f"has a column {each!r:.40}" for each in others]
    twice = [f"has two columns {each}" for each in known or () if head.count(each) > 1]
    for problem in (*missing, *unknown, *twice):
        columns = ", ".join(known or required)
        raise UsageError(f"{file} {problem}; expected a head with columns of {columns}")
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
