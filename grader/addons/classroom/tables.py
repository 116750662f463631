"""Reads the tables that instructors keep next to hand-ins, as CSV or TOML, and writes ours."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from grader.course import strict_toml
from grader.course.strict_toml import Kind, Table
from grader.model.errors import GraderError, UsageError
from grader.report.safe_text import visible

_MAX_NUM_BYTES = 16 << 20
_FORMULA = re.compile('(^|;)([ "]*)([=+@\uff1d\uff0b\uff0d\uff20-])')
"""The beginning of a formula, also after a semicolon, which may separate cells."""
_MOST_LINES = 20
_MOST_NAMES = 10
"""With the same problem, in one line."""
_SPACE = re.compile(r"\r\n|\s")
_COMMANDS = re.compile("[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that control a screen or reverse text, and that no file can contain."""


def inert(cell: str) -> str:
    """Return a text as a cell: all visible, in one line, and never a formula."""
    return _FORMULA.sub(r"\1\2'\3", visible(cell))


def inert_comment(text: str) -> str:
    """Return a marker's comment as a cell: in one line, and otherwise unchanged.

    An emoji, for example, contains characters that are invisible by themselves.
    """
    line = _SPACE.sub(" ", text)
    return _FORMULA.sub(r"\1\2'\3", _COMMANDS.sub(lambda found: visible(found[0]), line))


def table_text(rows: Iterable[Iterable[str]]) -> str:
    """Return a CSV of rows, the head first: no cell is a formula, and each row is one line."""
    return csv_text([inert(cell) for cell in row] for row in rows)


def csv_text(rows: Iterable[Iterable[str]], delimiter: str = ",") -> str:
    """Return a CSV of cells as they are."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()


def read_text(file: Path, what: str = "a CSV") -> str:
    """Return the text in a file. what: the expected kind. Raises UsageError if it is unreadable."""
    try:
        with file.open("rb") as stream:
            return stream.read(_MAX_NUM_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}; expected {what}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not UTF-8 text; save it again as UTF-8") from None


def csv_lines(text: str, file: str) -> list[tuple[int, list[str]]]:
    """Return the lines of a CSV with their numbers. Raises UsageError with the invalid line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(text))
    try:
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise UsageError(
            f"{file}, line {reader.line_num} is not CSV ({error}); save it as CSV in UTF-8"
        ) from None


def delimiter_of(text: str) -> str:
    """Return the separator of a CSV, by its first line."""
    first = text.partition("\n")[0]
    # Where numbers have a decimal comma, spreadsheets write semicolons; a title may have commas.
    return ";" if first.count(";") > first.count(",") else ","


def read_table(
    file: Path, *, required: Sequence[str] = (), known: Sequence[str] | None = None
) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of a CSV with their line numbers, by the columns that its head names.

    known: all columns that it may have; None for any. Raises UsageError for columns that are
    missing or unknown, and for lines of another length.
    """
    what = "a CSV, with a path relative to class.toml"
    lines = csv_lines(read_text(file, what), str(file))
    head = [each.strip().lower() for each in lines[0][1]] if lines else []
    problems = [f"has no column {each}" for each in required if each not in head]
    if known is not None:
        problems += [f"has a column {each!r:.40}" for each in head if each not in known]
        problems += [f"has two columns called {each}" for each in known if head.count(each) > 1]
    if problems:
        columns = ", ".join(known or required)
        raise UsageError(f"{file} {problems[0]}; expected a header with the columns {columns}")
    rows = []
    for number, row in lines[1:]:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(head):
            raise UsageError(f"{file}, line {number} has {len(row)} cells; expected {len(head)}")
        rows.append((number, dict(zip(head, map(str.strip, row), strict=True))))
    return rows


def read_settings(
    file: Path, kind: type[Kind], cross_check: Callable[[Table], Iterable[str]]
) -> Kind:
    """Return what a TOML file of settings says. Raises UsageError with its mistakes."""
    try:
        return strict_toml.read(file, kind, cross_check)
    except GraderError as error:  # in a file of settings, a mistake is a usage error
        raise UsageError(*error.args) from None


def grouped(problems: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each problem, which begins with the names of all that have it."""
    names: dict[str, list[str]] = {}
    for name, problem in problems:
        names.setdefault(problem, []).append(name)
    return [
        f"{', '.join(each[:_MOST_NAMES])}"
        f"{f', and {len(each) - _MOST_NAMES} more' if len(each) > _MOST_NAMES else ''}: {problem}"
        for problem, each in names.items()
    ]


def bounded(lines: Sequence[str], others: str) -> Iterator[str]:
    """Yield the first lines, indented, and how many others there are. others: where they are."""
    yield from (f"  {line}" for line in lines[:_MOST_LINES])
    if len(lines) > _MOST_LINES:
        yield f"  and {len(lines) - _MOST_LINES} more, {others}"
