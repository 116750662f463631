"""Reads who is in a class from a CSV with a line for each student, and finds authors."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path

from grader.addons.classroom.tables import read_table
from grader.model.errors import UsageError
from grader.model.spelling import did_you_mean

COLUMNS = ("id", "name", "email", "group", "moodle", "canvas", "blackboard", "gradescope", "github")
_NUMBERS = ("id", "moodle", "canvas", "blackboard", "github", "email", "gradescope")
"""Columns that identify a single student, the most reliable first."""
_NAMES = ("name", "canvas_name")
"""Columns that two students may have in common."""
_OWN_BESIDE = {"name": ("moodle", "email", "id"), "canvas_name": ("canvas",)}
"""Columns by which a platform tells students of the same name apart."""


@dataclass(frozen=True)
class HandIn:
    """One submission as a platform has delivered it."""

    label: str
    """Its name in the folder of the class, without the name of a file in it."""
    who: Mapping[str, str]
    """What the platform says of its author, by column of the roster: `{"moodle": "12345"}`."""
    path: Path
    """The folder or archive to grade."""
    digest: str
    """SHA-256 over names and contents of all its files, as they came; empty without any."""
    submitted_at: datetime | None = None
    """With a time zone; None where nobody says."""
    is_called_late: bool = False
    """The platform says that it is late."""
    sent_as: str = ""
    """How the name of feedback begins, where that is not the label."""
    is_of_namesakes: bool = False
    """Somebody else has handed in under the same name: the number alone tells whose it is."""
    other_authors: tuple[Mapping[str, str], ...] = ()
    """Of a group that the platform knows."""
    problem: str = ""
    """Why nothing of it can be graded: one sentence; empty where it can be tried."""
    files: tuple[Path, ...] = ()
    """Its files or folders in the folder of the class; `path` may be a copy of them."""

    @property
    def name(self) -> str:
        """Return the name of its only file or folder in the folder of the class, if it has one."""
        return self.files[0].name if len(self.files) == 1 else ""

    @property
    def authors(self) -> tuple[Mapping[str, str], ...]:
        """Return what the platform says of each."""
        return (self.who, *self.other_authors)


@dataclass(frozen=True)
class Student:
    """One line of the roster."""

    id: str
    known_as: Mapping[str, str]
    """Names and numbers on platforms, by column; `name` and `email` among them."""
    group: str = ""
    """A hand-in by one member counts for the whole group; empty for a student without a group."""

    @property
    def name(self) -> str:
        """Return the name, or the id where the roster has none."""
        return self.known_as.get("name") or self.id


@dataclass(frozen=True)
class Roster:
    """The students of a class, in the order of its file."""

    listed: tuple[Student, ...] = ()
    is_gone: Callable[[Student], bool] = lambda _: False
    """Whether a student was forgotten: not an author any more, but still known as a member."""

    @property
    def students(self) -> tuple[Student, ...]:
        """Return who is on it and was not forgotten."""
        return tuple(each for each in self.listed if not self.is_gone(each))

    def authors(self, hand_in: HandIn) -> list[Student]:
        """Return the authors of a hand-in: students on the roster, with their group.

        Without a roster, it is the student that the platform names. Returns none if no student
        matches, or if a name matches several. Leaves out forgotten students.
        """
        return [each for each in self.authors_ever(hand_in) if not self.is_gone(each)]

    def authors_ever(self, hand_in: HandIn) -> list[Student]:
        """Return the authors, including forgotten students."""
        if team := self._team(hand_in):
            return team
        found = self._named(hand_in)
        groups = {student.group for student in found}
        # If they are of two groups, it counts only for those whom the platform names.
        groups = groups - {""} if len(groups) == 1 else set()
        known = self.listed or {each.id: each for each in found}.values()
        ids = {each.id for each in found}
        return [each for each in known if each.id in ids or each.group in groups]

    def _team(self, hand_in: HandIn) -> list[Student]:
        """Return the members of the team that a hand-in is named after; none otherwise."""
        is_chosen = set(hand_in.who) != {"id"}  # of a platform, where a student may choose it
        return [] if is_chosen else [*self._called("group", hand_in.who["id"])]

    def are_of_groups(self, hand_in: HandIn) -> bool:
        """Return whether those whom the platform names are of several groups on the roster."""
        return len({student.group for student in self._named(hand_in)}) > 1

    def _named(self, hand_in: HandIn) -> list[Student]:
        return [student for who in hand_in.authors if (student := self._of(who)) is not None]

    def sender(self, hand_in: HandIn) -> Student | None:
        """Return who handed it in, even if it also counts for others."""
        return self._of(hand_in.who)

    def unknown_authors(self, hand_in: HandIn) -> list[str]:
        """Return what the platform calls authors who are not on the roster, beside some who are."""
        strangers = [who for who in hand_in.authors if self._of(who) is None]
        if len(strangers) == len(hand_in.authors):
            return []
        return [_unlisted(who).name if who else "a student without a name" for who in strangers]

    def means_several(self, hand_in: HandIn) -> bool:
        """Return whether several students on the roster match what the platform says."""
        who = hand_in.who
        return len({each.id for key in who for each in self._called(key, who[key])}) > 1

    def has(self, who: Mapping[str, str]) -> bool:
        """Return whether what a platform says of somebody means one student on the roster."""
        return bool(self.listed) and self._of(who) is not None

    def has_github_at_end(self, name: str) -> bool:
        """Return whether a name ends as GitHub Classroom's do: with somebody's name there."""
        theirs = (each.known_as.get("github", "") for each in self.listed)
        return any(user and comparable(name).endswith(f"-{comparable(user)}") for user in theirs)

    def is_called(self, column: str, value: str) -> bool:
        """Return whether a student on it has exactly this name; for an id, or a team has."""
        is_team = column == "id" and self._called("group", value)
        return bool(is_team or self._called(column, value))

    def may_have(self, column: str, value: str) -> bool:
        """Return whether a student may have this value: also one with an empty cell there."""
        has_all = self.listed and all(_names(each, column) - {""} for each in self.listed)
        return not has_all or self.is_called(column, value)

    def _of(self, who: Mapping[str, str]) -> Student | None:
        """Return the only student with these numbers, or else these names; None for several."""
        if not self.listed:
            return _unlisted(who) if who else None
        numbered = [self._called(each, who[each]) for each in _NUMBERS if each in who]
        named = [self._called(each, who[each]) for each in _NAMES if each in who]
        tables = numbered if any(numbered) else named
        found = {student.id: student for table in tables for student in table}
        only = next(iter(found.values())) if len(found) == 1 else None
        return None if only and tables is named and _is_another(only, who) else only

    def _called(self, column: str, value: str) -> Sequence[Student]:
        return self._by_name.get((column, comparable(value, column)), ())

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], Sequence[Student]]:
        """Return who is called so, by column and comparable name."""
        found: dict[tuple[str, str], list[Student]] = {}
        for each in self.listed:
            for column in (*_NUMBERS, *_NAMES, "group"):
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
            raise UsageError(f"{file}, line {number} has no id; expected one for each student")
        if row["id"] in students:
            raise UsageError(f"{file}, line {number}: the id {row['id']} appears twice")
        known_as = {key: value for key, value in row.items() if value and key != "group"}
        students[row["id"]] = Student(row["id"], known_as, row.get("group", ""))
    for number, row in rows:
        if (group := row.get("group", "")) in students:
            raise UsageError(
                f"{file}, line {number}: the group {group} has the same name as a student's id, so "
                f"marks and extensions are ambiguous; rename it to group-{group}"
            )
    if not students:
        raise UsageError(
            f"{file} lists no students; expected a line for each student below its header"
        )
    return Roster(tuple(students.values()))


def with_teams(roster: Roster, teams: Mapping[str, Sequence[str]], where: str) -> Roster:
    """Return the roster with the teams of class.toml, each a name and ids.

    where: the file. Raises UsageError for who is not on the roster, or would be in two teams.
    """
    groups = {each.id: each.group for each in roster.listed if each.group}
    ids = {each.id: each for each in roster.listed}
    for team, members in teams.items():
        if team in ids:
            raise UsageError(
                f"{where}: teams.{team} is also a student's id, so marks and extensions could be "
                f"for either; call it team-{team}"
            )
        for member in members:
            if member not in ids:
                raise UsageError(
                    f"{where}: teams.{team} has {member!r:.60}, which is not an id on the roster; "
                    f"expected ids from the roster's id column{did_you_mean(member, ids)}"
                )
            if groups.setdefault(member, team) != team:
                raise UsageError(
                    f"{where}: teams.{team} has {member}, but {groups[member]} already has that "
                    "student; remove the student from one of the two"
                )
    return replace(
        roster, listed=tuple(replace(each, group=groups.get(each.id, "")) for each in roster.listed)
    )


def comparable(text: str, column: str = "") -> str:
    """Return a name as two systems would write it; in a column of Canvas, letters and digits."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if column == "canvas_name":
        return re.sub(r"\W|_", "", folded)
    return " ".join(folded.split())


def _is_another(student: Student, who: Mapping[str, str]) -> bool:
    """Return whether a student found by name has another number or email than the author.

    Numbers on Canvas never change, so the student found is then only a namesake of the author.
    """
    both = ((student.known_as.get(each), who.get(each)) for each in ("canvas", "email"))
    return any(known and told and comparable(known) != comparable(told) for known, told in both)


def _names(student: Student, column: str) -> set[str]:
    """Return the names that a student may have in a column: an id may also be a platform's."""
    if column == "canvas_name":
        *first, last = student.name.split() or [""]
        parts = [student.name] if "," in student.name else [last, *first]
        return {comparable("".join(parts), column)}
    if column == "group":
        return {comparable(student.group)}
    columns = {column, "github"} if column == "id" else {column}
    if column == "blackboard":
        columns.add("id")
    names = {student.known_as[each] for each in columns if each in student.known_as}
    if column == "name" and student.group:  # as Moodle writes it of a group that hands in as one
        names |= {f"{student.group}-{name}" for name in names}
    return {comparable(name) for name in names}


def _unlisted(who: Mapping[str, str]) -> Student:
    """Return a student whom only the platform names: by its number, or else by the name."""
    column = next(column for column in (*_NUMBERS, *_NAMES) if column in who)
    return Student(who[column], dict(who))


def namesakes_apart(hand_ins: Sequence[HandIn]) -> list[HandIn]:
    """Return the hand-ins without names that several students have in common.

    The roster may have only one student of that name, and would give her the work of both. So only
    the platform's numbers tell the authors apart.
    """
    numbers = defaultdict(set)
    for who in (who for each in hand_ins for who in each.authors):
        for column, own in _OWN_BESIDE.items():
            number = tuple(who.get(one) for one in own)
            if column in who and any(number):
                numbers[column, comparable(who[column], column)].add(number)
    shared = {name for name, found in numbers.items() if len(found) > 1}
    return [_without_names(each, shared) for each in hand_ins]


def _without_names(hand_in: HandIn, names: Collection[tuple[str, str]]) -> HandIn:
    first, *others = left = [
        {key: value for key, value in who.items() if (key, comparable(value, key)) not in names}
        for who in hand_in.authors
    ]
    if left == [*map(dict, hand_in.authors)]:
        return hand_in
    return replace(hand_in, who=first, other_authors=tuple(others), is_of_namesakes=True)
