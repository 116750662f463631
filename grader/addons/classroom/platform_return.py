"""Writes what goes back to a platform: its own table of grades, filled in, and the feedback.

Canvas takes back the gradebook that it exports (Student, ID, SIS User ID, ..., a column for each
assignment, a line of possible points); Moodle the offline grading worksheet of an assignment
(Identifier, ..., Grade, Maximum Grade, ..., Feedback comments).
"""

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.addons.classroom.gradebook import FORMATS, MARK, files_of, mark_lines
from grader.addons.classroom.roster import comparable
from grader.addons.classroom.standing import Standing
from grader.addons.classroom.tables import csv_lines, csv_text, delimiter_of, inert
from grader.model.errors import UsageError
from grader.model.points import written
from grader.report.safe_text import visible

_WHEN = (1980, 1, 1, 0, 0, 0)
"""Of the files in a zip: the same marks make the same zip."""
_OURS = ("identifier", "grade", "maximum grade", "feedback comments")
"""Columns of Moodle's worksheet, besides times, that no student fills in."""
_NO_FILE_NAME = re.compile(r'[\\:*?"<>|]')
_CANVAS_ASSIGNMENT = re.compile(r".+ \(\d+\)")
_POSSIBLE = "points possible"
_KEYS = {
    "canvas": {"ID": "canvas", "SIS User ID": "id", "SIS Login ID": "id"},
    "moodle": {"Identifier": "moodle", "ID number": "id", "Email address": "email"},
}
"""Columns that identify the student of a line, the most reliable first, and the roster's."""


@dataclass(frozen=True)
class PlatformTable:
    """A table of grades, and which of its columns mean what."""

    file: str
    platform: str
    """`canvas` or `moodle`."""
    rows: Sequence[Sequence[str]]
    """Including the head, unchanged."""
    head: Sequence[str]
    """The names of the columns."""
    delimiter: str
    at: int
    """The column that is filled in."""

    def is_somebodys(self, row: Sequence[str]) -> bool:
        """Return whether a line is a student's, and not one of the platform's own."""
        key = self.head.index(next(iter(_KEYS[self.platform])))
        return _POSSIBLE not in row[0].lower() and any(row[: key + 1])


def parse(text: str, file: str, column: str | None) -> PlatformTable:
    """Return a platform's table.

    file: its name, for messages. column: the assignment's, on Canvas; None if there is only one.
    Raises UsageError for a table of neither platform.
    """
    delimiter = delimiter_of(text)
    rows = [row for _, row in csv_lines(text, file) if row]
    head = [cell.strip().lstrip("\ufeff") for cell in rows[0]] if rows else []
    if {"Student", "ID"} <= set(head):
        at = _canvas_column(head, file, column)
        return PlatformTable(file, "canvas", rows, head, delimiter, at)
    if {"Identifier", "Grade"} <= set(head):
        return PlatformTable(file, "moodle", rows, head, delimiter, head.index("Grade"))
    raise UsageError(
        f"{file} is neither a Canvas gradebook (Student, ID, ...) nor a Moodle grading "
        "worksheet (Identifier, ..., Grade). Export it again, with your language set to English"
    )


def _canvas_column(head: Sequence[str], file: str, column: str | None) -> int:
    known = [cell for cell in head if _CANVAS_ASSIGNMENT.fullmatch(cell)]
    # A full title wins over the beginning of others: HW 1, next to HW 1 again.
    whole = [cell for cell in known if column in (cell, cell.rpartition(" (")[0])]
    # Whole words: HW 10 does not begin with HW 1.
    wanted = whole or [
        cell
        for cell in known
        if column is None or (cell.startswith(column) and not cell[len(column) :][:1].isalnum())
    ]
    if len(wanted) != 1:
        what = repr(column) if column else "an assignment"
        remedy = f"name one with --column: {', '.join(known)}" if known else "export it again"
        raise UsageError(f"{file}: {len(wanted) or 'no'} columns match {what}; {remedy}")
    return head.index(wanted[0])


@dataclass(frozen=True)
class Filled:
    """A table of grades to give back."""

    text: str
    """CSV."""
    num_filled: int
    left: tuple[str, ...]
    """Why lines are unchanged: a sentence each."""


def fill(table: PlatformTable, standings: Sequence[Standing]) -> Filled:
    """Return a platform's table with the final marks; lines of pending ones stay unchanged.

    Other cells also stay unchanged, except text that students may have written: a spreadsheet must
    not take it for a formula.
    """
    known = _by_key(standings, set(_KEYS[table.platform].values()))
    head = table.head
    comments = "Feedback comments" if table.platform == "moodle" else ""
    num_filled, num_unknown, left = 0, 0, []
    kept = [at for at, name in enumerate(head) if not _is_students(name, table.platform)]
    rows = [list(table.rows[0])]
    for line in table.rows[1:]:
        row = [cell if at in kept else inert(cell) for at, cell in enumerate(line)]
        rows.append(row)
        if not table.is_somebodys(row):
            continue
        if len(row) != len(head):
            left.append(f"{row[0]} has {len(row)} cells; expected {len(head)}")
            continue
        found = _whose(row, table, known)
        if found is None:
            num_unknown += 1
            left.append(f"{row[0]} matches no student graded here")
        elif found.final is None:
            left.append(f"{found.student.id} has no final mark: {found.status}")
        else:
            row[table.at] = written(round(found.final, 6))
            if comments and comments in head:
                row[head.index(comments)] = inert("; ".join(mark_lines(found)[1:]))
            num_filled += 1
    if num_unknown and num_unknown == len(left) and not num_filled:
        left = [
            f"no student in {table.file} matches one graded here; export the table of this "
            "class, or add the table's ids and numbers to the roster"
        ]
    return Filled(csv_text(rows, table.delimiter), num_filled, tuple(left))


def _is_students(column: str, platform: str) -> bool:
    """Return whether a student may have filled in a column: on Canvas, only the name."""
    if platform == "canvas":
        return column == "Student"
    return column.lower() not in _OURS and not column.lower().startswith("last modified")


def require_same_worth(table: PlatformTable, standings: Sequence[Standing]) -> None:
    """Raise UsageError if the platform states a maximum number of points that differs from ours."""
    most = max((each.mark.max_score for each in standings if each.mark), default=0.0)
    rows, columns, name = table.rows[1:], [table.at], "the assignment"
    if table.platform == "canvas":
        rows, name = [row for row in rows[:2] if _POSSIBLE in row[0].lower()], table.head[table.at]
    else:  # Versions of Moodle write it either way.
        columns = [at for at, cell in enumerate(table.head) if cell.lower() == "maximum grade"]
    for cell in sorted({row[at] for at in columns for row in rows if len(row) > at}):
        worth = cell.strip().replace(",", ".")
        if most and worth.replace(".", "", 1).isdecimal() and float(worth) != most:
            raise UsageError(
                f"{table.file}: {name} is worth {worth} points there, but {written(most)} here; "
                f"set it to {written(most)} in {table.platform.capitalize()} and export again"
            )


def _by_key(standings: Sequence[Standing], columns: set[str]) -> Mapping[tuple[str, str], Standing]:
    """Return who has which number or name on the platform; those of several are left out."""
    found: dict[tuple[str, str], list[Standing]] = {}
    for each in standings:
        for column in columns:
            value = each.student.id if column == "id" else each.student.known_as.get(column, "")
            # Not from hand-ins by other members of the group.
            own = [work for work in each.works if work.sender == each.student.id]
            for work in own if not value else ():
                value = value or work.hand_in.who.get(column, "")
            if value:
                found.setdefault((column, comparable(value)), []).append(each)
    return {key: owners[0] for key, owners in found.items() if len(owners) == 1}


def _whose(
    row: Sequence[str], table: PlatformTable, known: Mapping[tuple[str, str], Standing]
) -> Standing | None:
    for name, column in _KEYS[table.platform].items():
        if name in table.head:
            value = comparable(row[table.head.index(name)]).removeprefix("participant ")
            if value and (column, value) in known:
                return known[column, value]
    return None


def feedback_zip(standings: Sequence[Standing]) -> bytes:
    """Return a zip of feedback, with the names that the platform gave the hand-ins.

    Moodle finds the student by the folder, Canvas by the numbers in the name of the file.
    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for sent_as, each in sorted(_sent_back(standings).items()):
            texts = files_of(each)
            for file in (FORMATS["html"], MARK):
                if file in texts:
                    name = entry_name(f"{sent_as}{file}")
                    archive.writestr(
                        zipfile.ZipInfo(name, _WHEN), texts[file].encode(errors="replace")
                    )
    return made.getvalue()


def entry_name(name: str) -> str:
    """Return the name of a file in a zip: visible, and valid on every system that unpacks it.

    `/` stands between folders.
    """
    parts = [_NO_FILE_NAME.sub("-", visible(part)).strip(" .") for part in name.split("/")]
    return "/".join(part or "-" for part in parts)


def _sent_back(standings: Sequence[Standing]) -> Mapping[str, Standing]:
    """Return under which name each student's feedback goes back.

    In a team, the sender's feedback has the name of the hand-in. On Moodle, the others have their
    own folders if the roster has their numbers.
    """
    found: dict[str, Standing] = {}
    for each in standings:
        work = each.counted
        if work is None:
            continue
        number = each.student.known_as.get("moodle")
        name = work.hand_in.sent_as or f"{work.hand_in.label}_"
        is_sender = work.sender == each.student.id
        if number and "moodle" in work.hand_in.who and not is_sender:
            name = f"{each.student.name}_{number}_assignsubmission_file_/"
        if is_sender or name not in found:
            found[name] = each
    return found
