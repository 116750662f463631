"""Removes everything about a student, and keeps it from coming back.

A forgotten student may have handed in more before: owners.json lists the owners of each hand-in.
"""

import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.addons.classroom import publication
from grader.addons.classroom.class_folder import Pseudonyms, read_json, write_atomically
from grader.addons.classroom.gradings import Gradings
from grader.addons.classroom.marking_sheets import TO_FILL
from grader.addons.classroom.roster import HandIn, Roster, Student
from grader.addons.classroom.tables import csv_lines, csv_text, delimiter_of, read_text
from grader.model.errors import UsageError

_FORGOTTEN = "forgotten.json"
_OWNERS = "owners.json"
Owners = Mapping[str, Sequence[str]]
"""Pseudonyms by the digest of a hand-in that was ever graded."""
_WITH_NAMES = (
    *("gradebook.csv", "class.html", "regrade.csv", "changes.csv"),
    *("canvas-feedback.zip", "moodle-feedback.zip", "canvas-grades.csv", "moodle-grades.csv"),
)
"""Files with a line for each student: they are written again for the students who are left."""


@dataclass(frozen=True)
class _Forgotten:
    students: list[str]


def forgotten(out: Path) -> set[str]:
    """Return the pseudonyms of forgotten students. Raises GraderError for a damaged file."""
    found = read_json(out / _FORGOTTEN, _Forgotten)
    return set(found.students) if found is not None else set()


def remember_to_forget(out: Path, students: Collection[str]) -> None:
    """Write down the pseudonyms of forgotten students. Raises OSError."""
    write_atomically(out / _FORGOTTEN, {"students": sorted(students)})


def owners(out: Path) -> Owners:
    """Return the owners of hand-ins; none without the file. Raises GraderError if it is damaged."""
    return read_json(out / _OWNERS, dict[str, list[str]]) or {}


def owners_of(hand_ins: Sequence[HandIn], roster: Roster, names: Pseudonyms) -> Owners:
    """Return the owners of hand-ins; several students may own the same."""
    found: dict[str, set[str]] = {}
    for each in hand_ins:
        authors = {names.of(student.id) for student in roster.authors(each)}
        found.setdefault(each.digest, set()).update(authors)
    return {digest: sorted(students) for digest, students in found.items()}


def is_known(before: Owners, now: Owners) -> bool:
    """Return whether these can be the same class: they share a hand-in or a student."""
    known, present = ({name for own in each.values() for name in own} for each in (before, now))
    is_shared = known & present or before.keys() & now.keys()
    return not before or not present or bool(is_shared)


def remember_owners(out: Path, owned: Owners) -> None:
    """Write down the owners of hand-ins. Raises OSError."""
    write_atomically(out / _OWNERS, owned)


def student_called(
    identity: str, hand_ins: Sequence[HandIn], roster: Roster, names: Pseudonyms, owned: Owners
) -> Student:
    """Return the student with an id. Raises UsageError if no student has or ever had it."""
    known = [*roster.students, *(who for each in hand_ins for who in roster.authors(each))]
    if found := next((each for each in known if each.id == identity), None):
        return found
    if any(names.of(identity) in students for students in owned.values()):
        return Student(identity, {"id": identity})  # whose hand-ins were removed before
    raise UsageError(f"no student here has the id {identity!r:.60}; the gradebook lists all ids")


def without(
    hand_ins: Sequence[HandIn], roster: Roster, names: Pseudonyms, gone: Collection[str]
) -> tuple[list[HandIn], Roster]:
    """Return the hand-ins that others own or share, and the roster without the gone students."""
    left = replace(roster, is_gone=lambda student: names.of(student.id) in gone)
    return [each for each in hand_ins if left.authors(each) or not roster.authors(each)], left


def remove(
    out: Path,
    gradings: Gradings,
    pseudonym: str,
    gone: Sequence[HandIn],
    left: Sequence[HandIn],
    is_in_team: bool = False,
) -> int:
    """Remove reports, gradings and copies of a student; return how many gradings there were.

    gone: hand-ins of this student alone. left: those of others, who keep gradings of equal files,
    and the student's team the lines in to-mark.csv. The platform's download stays: removing it is
    up to the instructor. Raises UsageError, and removes nothing, if to-mark.csv is unreadable.
    """
    to_fill = [] if is_in_team else [*out.glob(f"{Path(TO_FILL).stem}*.csv")]
    texts = {file: _without_lines_of(pseudonym, file) for file in to_fill}
    before = owners(out)
    left_to = {
        digest: [each for each in own if each != pseudonym] for digest, own in before.items()
    }
    nobodys = {digest for digest, own in before.items() if own and not left_to[digest]}
    digests = ({each.digest for each in gone} | nobodys) - {each.digest for each in left}
    keys = gradings.keys_of(digests)
    for key in keys:
        gradings.remove(key)
    for folder in ("students", "marking"):
        shutil.rmtree(out / folder / pseudonym, ignore_errors=True)
    shutil.rmtree(out / "pairs", ignore_errors=True)
    # Logs of a cluster's workers name the hand-ins.
    shutil.rmtree(out / "parsl", ignore_errors=True)
    for file in [file for pattern in _WITH_NAMES for file in out.glob(pattern)]:
        file.unlink(missing_ok=True)
    for file, text in texts.items():
        write_atomically(file, text)
    published = publication.read(out)
    still = {digest: key for digest, key in published.items() if digest not in digests}
    publication.write(out, still)
    remember_owners(out, {each: own for each, own in left_to.items() if each not in nobodys})
    return len(keys)


def remove_copies(out: Path, kept: Iterable[HandIn]) -> None:
    """Remove the copies of all hand-ins but these: they are made in each run."""
    labels = {each.label for each in kept}
    for copy in (out / "assembled").glob("*"):
        if copy.name not in labels:
            shutil.rmtree(copy, ignore_errors=True)


_MANY_DIGITS = 4


def lines_with(called: Collection[str], files: Iterable[Path]) -> Iterator[str]:
    """Yield each file that has one of these words, with the numbers of its lines."""
    # A short number may be anybody's points.
    words = "|".join(
        rf"Participant {each}" if each.isdigit() and len(each) < _MANY_DIGITS else re.escape(each)
        for each in called
        if each
    )
    found = re.compile(rf"(?<![^\s\"',;=(<\[{{])({words})(?![^\s\"',;=.)>\]}}])", re.IGNORECASE)
    for file in dict.fromkeys(files):
        lines = file.read_text(encoding="utf-8-sig", errors="replace").split("\n")
        if numbers := [str(at) for at, line in enumerate(lines, 1) if found.search(line)]:
            yield f"{file}, line{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"


def _without_lines_of(pseudonym: str, file: Path) -> str:
    text = read_text(file)
    lines = csv_lines(text, str(file))
    head = [each.strip().lower() for each in lines[0][1]] if lines else []
    place = head.index("id") if "id" in head else 0
    others = [row for _, row in lines if len(row) <= place or row[place].strip() != pseudonym]
    return csv_text(others, delimiter_of(text))
