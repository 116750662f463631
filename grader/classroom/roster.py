"""The roster of a class: a CSV with a line for each student, and whose a hand-in is."""

import csv
import io
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.classroom.hand_in import HandIn, Student
from grader.errors import UsageError

COLUMNS = ("id", "name", "email", "group", "moodle", "canvas", "blackboard", "gradescope", "github")
_MAX_NUM_BYTES = 16 << 20


@dataclass(frozen=True)
class Roster:
    """The students of a class, in the order of its file."""

    students: tuple[Student, ...] = ()

    def authors(self, hand_in: HandIn) -> list[Student]:
        """Return whose a hand-in is: with a roster, of those on it, and with them their group.

        Without a roster it is the one that the platform names. None where nobody is found, or
        where a name is that of several.
        """
        tables = (hand_in.who, *hand_in.other_authors)
        if not self.students:
            return [_unlisted(who) for who in tables]
        found = [student for who in tables if (student := self._of(who)) is not None]
        groups = {student.group for student in found} - {""}
        return [each for each in self.students if each in found or each.group in groups]

    def _of(self, who: Mapping[str, str]) -> Student | None:
        """Return the one student of whom a number or name of a platform is."""
        for column, value in who.items():
            wanted = comparable(value, column)
            known = [each for each in self.students if wanted and wanted in _names(each, column)]
            if len(known) == 1:
                return known[0]
        return None


def read(file: Path) -> Roster:
    """Return the roster in a CSV whose first line names its columns, `id` among them.

    Raises UsageError with the line that is wrong.
    """
    rows = read_table(file, required=("id",), known=COLUMNS)
    students: dict[str, Student] = {}
    for number, row in rows:
        if not row["id"]:
            raise UsageError(f"{file}, line {number}: has no id; expected one for each student")
        if row["id"] in students:
            raise UsageError(f"{file}, line {number}: the id {row['id']} is there twice")
        known_as = {key: value for key, value in row.items() if value and key != "group"}
        students[row["id"]] = Student(row["id"], known_as, row.get("group", ""))
    if not students:
        raise UsageError(f"{file} names no student; expected a line for each below its head")
    return Roster(tuple(students.values()))


def read_table(
    file: Path, *, required: Sequence[str], known: Sequence[str]
) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of a CSV with their line numbers, by the columns that its head names.

    Raises UsageError for columns that are missing or unknown, and for lines of another length.
    """
    try:
        with file.open("rb") as stream:
            text = stream.read(_MAX_NUM_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not text in UTF-8; save it as CSV in UTF-8") from None
    first = text.partition("\n")[0]
    # Where numbers have a decimal comma, spreadsheets write semicolons.
    delimiter = ";" if ";" in first and "," not in first else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    head = [each.strip().lower() for each in next(reader, [])]
    missing = [each for each in required if each not in head]
    unknown = [each for each in head if each not in known]
    if missing or unknown:
        problem = f"has no column {missing[0]}" if missing else f"has a column {unknown[0]!r:.40}"
        raise UsageError(f"{file} {problem}; expected a head with columns of {', '.join(known)}")
    rows = []
    for row in reader:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(head):
            raise UsageError(
                f"{file}, line {reader.line_num}: has {len(row)} cells; expected {len(head)}"
            )
        cells = [cell.strip() for cell in row]
        rows.append((reader.line_num, dict(zip(head, cells, strict=True))))
    return rows


def comparable(text: str, column: str = "") -> str:
    """Return a name as two systems would both write it: no case, and single spaces.

    column: of one that Canvas writes, only letters and digits are left.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    if column == "canvas_name":
        return re.sub(r"\W|_", "", folded)
    return " ".join(folded.split())


def _names(student: Student, column: str) -> set[str]:
    """Return what a student may be called in a column: an id may also be that of a platform."""
    if column == "canvas_name":
        *first, last = student.name.split() or [""]
        return {comparable("".join([last, *first]), column)}
    columns = {column, "github"} if column == "id" else {column}
    if column in ("blackboard", "gradescope"):
        columns.add("id")
    return {comparable(student.known_as[each]) for each in columns if each in student.known_as}


def _unlisted(who: Mapping[str, str]) -> Student:
    """Return a student whom only the platform names: by its number, or else by the name."""
    columns = ("id", "moodle", "canvas", "blackboard", "gradescope", "name", "email")
    identity = next(who[column] for column in columns if column in who)
    return Student(identity, dict(who))
