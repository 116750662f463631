"""The roster of a class: a CSV with a line for each student, and whose a hand-in is."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grader.classroom.csv_tables import read_table
from grader.classroom.hand_in import HandIn, Student
from grader.errors import UsageError

COLUMNS = ("id", "name", "email", "group", "moodle", "canvas", "blackboard", "gradescope", "github")
_ORDER = (*("id", "moodle", "canvas", "blackboard", "email", "gradescope", "name", "canvas_name"),)
"""What tells best who somebody is comes first: two may have the same name."""


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
        where a name is that of several. Nor who was forgotten.
        """
        return [each for each in self.authors_ever(hand_in) if not self.is_gone(each)]

    def authors_ever(self, hand_in: HandIn) -> list[Student]:
        """Return whose it is and was: also who was forgotten."""
        found = self._named(hand_in)
        groups = {student.group for student in found}
        # Of two groups, it is nobody's but of those whom the platform names.
        groups = groups - {""} if len(groups) == 1 else set()
        known = self.listed or {each.id: each for each in found}.values()
        ids = {each.id for each in found}
        return [each for each in known if each.id in ids or each.group in groups]

    def are_of_groups(self, hand_in: HandIn) -> bool:
        """Return whether those whom the platform names are of several groups on the roster."""
        return len({student.group for student in self._named(hand_in)}) > 1

    def _named(self, hand_in: HandIn) -> list[Student]:
        tables = (hand_in.who, *hand_in.other_authors)
        return [student for who in tables if (student := self._of(who)) is not None]

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
            if len(found) == 1 and not _is_another(found[0], who, column):
                return found[0]
        return self._of_checkout(who["id"]) if set(who) == {"id"} else None

    def _of_checkout(self, name: str) -> Student | None:
        """Return whose checkout has such a name: GitHub Classroom puts the assignment before it."""
        pieces = comparable(name).split("-")
        ends = ("-".join(pieces[first:]) for first in range(1, len(pieces)))
        known = (self._by_name.get(("github", end), ()) for end in ends)
        found = next((each for each in known if each), ())
        return found[0] if len(found) == 1 else None

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
            for column in (*_ORDER, "github"):
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
    for number, row in rows:
        if (group := row.get("group", "")) in students:
            raise UsageError(
                f"{file}, line {number}: the group {group} has the id of a student, and marks and "
                f"extensions could be for either; call it group-{group}"
            )
    if not students:
        raise UsageError(f"{file} names no student; expected a line for each below its head")
    return Roster(tuple(students.values()))


def comparable(text: str, column: str = "") -> str:
    """Return a name as two systems would both write it: no case, and single spaces.

    column: of one that Canvas writes, only letters and digits are left.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    if column == "canvas_name":
        return re.sub(r"\W|_", "", folded)
    return " ".join(folded.split())


def _is_another(student: Student, who: Mapping[str, str], column: str) -> bool:
    """Return whether the student found in a column is known by something else that is one's own.

    The numbers of Canvas are for ever; who is found by the name may be a namesake of whom it is.
    """
    own = ("canvas", "email") if column in ("name", "canvas_name") else ("canvas",)
    both = ((student.known_as.get(each), who.get(each)) for each in own)
    return any(known and told and comparable(known) != comparable(told) for known, told in both)


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
