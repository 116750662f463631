"""The table of grades that a platform exports, and reads again when it is filled in.

Canvas takes back the gradebook that it exports (Student, ID, SIS User ID, ..., a column for each
assignment, a line of possible points); Moodle the offline grading worksheet of an assignment
(Identifier, ..., Grade, Maximum Grade, ..., Feedback comments).
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.addons.classroom.csv_tables import delimiter_of
from grader.model.errors import UsageError

_CANVAS_ASSIGNMENT = re.compile(r".+ \(\d+\)")
_POSSIBLE = "points possible"
_CANVAS_KEYS = {"ID": "canvas", "SIS User ID": "id", "SIS Login ID": "id"}
_MOODLE_KEYS = {"Identifier": "moodle", "ID number": "id", "Email address": "email"}


@dataclass(frozen=True)
class PlatformTable:
    """A table of grades, with what is known of its columns."""

    file: str
    platform: str
    """`canvas` or `moodle`."""
    rows: Sequence[Sequence[str]]
    """With the head."""
    delimiter: str
    at: int
    """The column that is filled in."""
    assignment: str
    """What it is called there."""
    keys: Mapping[str, str]
    """Columns that say whose a line is, what tells best first, with those of the roster."""
    worths: Sequence[str]
    """How many points the assignment has there, as it is written; nothing where nobody says."""
    feedback: int | None
    """The column of comments."""

    @property
    def head(self) -> Sequence[str]:
        """Return the names of the columns."""
        return _head_of(self.rows)

    def is_somebodys(self, row: Sequence[str]) -> bool:
        """Return whether a line is a student's, and not one of the platform's own."""
        key = self.head.index(next(iter(self.keys)))
        return _POSSIBLE not in row[0].lower() and any(row[: key + 1])


def read(text: str, file: str, column: str | None) -> PlatformTable:
    """Return a platform's table.

    file: its name, for what is wrong with it. column: of Canvas, which assignment; None where there
    is but one. Raises UsageError for a table of neither platform.
    """
    delimiter = delimiter_of(text)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = [row for row in reader if row]
    except csv.Error as error:
        raise UsageError(f"{file} is not CSV ({error}); export it again") from None
    head = _head_of(rows)
    if {"Student", "ID"} <= set(head):
        at = _canvas_column(head, file, column)
        worths = [row[at] for row in rows[1:3] if _POSSIBLE in row[0].lower() and len(row) > at]
        return PlatformTable(
            file, "canvas", rows, delimiter, at, head[at], _CANVAS_KEYS, worths, None
        )
    if {"Identifier", "Grade"} <= set(head):
        # Versions of Moodle write it either way.
        columns = [at for at, cell in enumerate(head) if cell.lower() == "maximum grade"]
        worths = sorted({row[at] for at in columns for row in rows[1:] if len(row) > at})
        comments = head.index("Feedback comments") if "Feedback comments" in head else None
        at = head.index("Grade")
        name = "the assignment"
        return PlatformTable(
            file, "moodle", rows, delimiter, at, name, _MOODLE_KEYS, worths, comments
        )
    raise UsageError(
        f"{file} is neither a Canvas gradebook (Student, ID, ...) nor a Moodle grading "
        "worksheet (Identifier, ..., Grade). Export it again, with English as your language"
    )


def _head_of(rows: Sequence[Sequence[str]]) -> list[str]:
    return [cell.strip().lstrip("\ufeff") for cell in rows[0]] if rows else []


def _canvas_column(head: Sequence[str], file: str, column: str | None) -> int:
    known = [cell for cell in head if _CANVAS_ASSIGNMENT.fullmatch(cell)]
    wanted = [cell for cell in known if column is None or _begins_with(cell, column)]
    # All of a title says it better than how others begin: HW 1, beside HW 1 again.
    whole = [cell for cell in known if column in (cell, cell.rpartition(" (")[0])]
    wanted = whole or wanted
    if len(wanted) != 1:
        raise UsageError(
            f"{file}: {len(wanted)} columns match "
            f"{repr(column) if column else 'an assignment'}; name one with --column: "
            f"{', '.join(known) or 'there is none'}"
        )
    return head.index(wanted[0])


def _begins_with(cell: str, words: str) -> bool:
    """Return whether a title begins with these words, whole ones: HW 10 does not with HW 1."""
    return cell.startswith(words) and not cell[len(words) :][:1].isalnum()
