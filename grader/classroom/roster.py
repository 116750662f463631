"""The roster of a class: a CSV with a line for each student, and whose a hand-in is."""

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grader.classroom.hand_in import HandIn, Student
from grader.errors import UsageError

COLUMNS = ("id", "name", "email", "group", "moodle", "canvas", "blackboard", "gradescope", "github")
_ORDER = (*("id", "moodle", "canvas", "blackboard", "email", "gradescope", "name", "canvas_name"),)
"""What tells best who somebody is comes first: two may have the same name."""
_MAX_NUM_BYTES = 16 << 20


def _nobody(_: Student) -> bool:
    return False


@dataclass(frozen=True)
class Roster:
    """The students of a class, in the order of its file."""

    listed: tuple[Student, ...] = ()
    is_gone: Callable[[Student], bool] = _nobody
    """Who was forgotten: nobody's author any more, and yet known as one of a group."""

    @property
    def students(self) -> tuple[Student, ...]:
        """Return who is on it and was not forgotten."""
        return tuple(each for each in self.listed if not self.is_gone(each))

    def authors(self, hand_in: HandIn) -> list[Student]:
        """Return whose a hand-in is: with a roster, of those on it, and with them their group.

        Without a roster it is the one that the platform names. None where nobody is found, or
        where a name is that of several.
        """
        tables = (hand_in.who, *hand_in.other_authors)
        found = [student for who in tables if (student := self._of(who)) is not None]
        groups = {student.group for student in found} - {""}
        known = self.listed or {each.id: each for each in found}.values()
        ids = {each.id for each in found}
        authors = [each for each in known if each.id in ids or each.group in groups]
        return [each for each in authors if not self.is_gone(each)]

    def sender(self, hand_in: HandIn) -> Student | None:
        """Return who has handed it in, also where that counts for others."""
        return self._of(hand_in.who)

    def unknown_authors(self, hand_in: HandIn) -> list[str]:
        """Return what the platform calls authors who are not on the roster, beside some who are."""
        tables = (hand_in.who, *hand_in.other_authors)
        if all(self._of(who) is None for who in tables):
            return []
        return [_unlisted(who).name for who in tables if self._of(who) is None]

    def _of(self, who: Mapping[str, str]) -> Student | None:
        """Return the one student of whom a number or name of a platform is, numbers first."""
        if not self.listed:
            return _unlisted(who)
        for column in sorted(who, key=_ORDER.index):
            found = self._called(column, who[column])
            if len(found) == 1 and not _is_another(found[0], who):
                return found[0]
        return None

    def _called(self, column: str, value: str) -> Sequence[Student]:
        """Return who is called so in a column; of ends of a name, who has the longest."""
        wanted = comparable(value, column)
        if column != "blackboard":
            return self._by_name.get((column, wanted), ())
        pieces = wanted.split("_")
        ends = ("_".join(pieces[first:]) for first in range(len(pieces)))
        known = (self._by_name.get((column, end), ()) for end in ends)
        return next((found for found in known if found), ())

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], Sequence[Student]]:
        """Return who is called so, by column and comparable name."""
        found: dict[tuple[str, str], list[Student]] = {}
        for each in self.listed:
            for column in _ORDER:
                for name in _names(each, column) - {""}:
                    found.setdefault((column, name), []).append(each)
        return found


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
    lines = _lines(text, delimiter_of(text), file)
    head = [each.strip().lower() for each in lines[0][1]] if lines else []
    missing = [f"has no column {each}" for each in required if each not in head]
    unknown = [f"has a column {each!r:.40}" for each in head if each not in known]
    twice = [f"has two columns {each}" for each in known if head.count(each) > 1]
    for problem in (*missing, *unknown, *twice):
        raise UsageError(f"{file} {problem}; expected a head with columns of {', '.join(known)}")
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


def comparable(text: str, column: str = "") -> str:
    """Return a name as two systems would both write it: no case, and single spaces.

    column: of one that Canvas writes, only letters and digits are left.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    if column == "canvas_name":
        return re.sub(r"\W|_", "", folded)
    return " ".join(folded.split())


def _is_another(student: Student, who: Mapping[str, str]) -> bool:
    """Return whether Canvas, whose numbers are for ever, knows the student by another one."""
    known, told = student.known_as.get("canvas"), who.get("canvas")
    return bool(known and told) and known != told


def _names(student: Student, column: str) -> set[str]:
    """Return what a student may be called in a column: an id may also be that of a platform."""
    if column == "canvas_name":
        *first, last = student.name.split() or [""]
        parts = [student.name] if "," in student.name else [last, *first]
        return {comparable("".join(parts), column)}
    columns = {column, "github"} if column == "id" else {column}
    if column == "blackboard":
        columns.add("id")
    names = {student.known_as[each] for each in columns if each in student.known_as}
    if column == "name" and student.group:  # as Moodle writes it of a group that hands in as one
        names |= {f"{student.group}-{name}" for name in names}
    return {comparable(name) for name in names}


def _unlisted(who: Mapping[str, str]) -> Student:
    """Return a student whom only the platform names: by its number, or else by the name."""
    column = next(column for column in _ORDER if column in who)
    identity = who[column]
    # More underlines may be part of it, and two with the same end are not to become one.
    if column == "blackboard" and identity.count("_") == 1:
        identity = identity.partition("_")[2]
    return Student(identity, dict(who))
