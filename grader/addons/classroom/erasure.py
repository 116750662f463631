"""Removes all that is kept of a student, and keeps it from coming back."""

import json
import shutil
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from grader.addons.classroom import owners, publication
from grader.addons.classroom.gradings import Gradings, write_atomically
from grader.addons.classroom.hand_in import HandIn, Student
from grader.addons.classroom.owners import Owners
from grader.addons.classroom.pseudonyms import Pseudonyms
from grader.addons.classroom.roster import Roster
from grader.model.errors import GraderError, UsageError

_FILE = "forgotten.json"
_WITH_NAMES = (
    *("gradebook.csv", "class.html", "regrade.csv", "to-mark*.csv"),
    *("canvas-feedback.zip", "moodle-feedback.zip", "canvas-grades.csv", "moodle-grades.csv"),
)
"""What has a line of everybody: it is written again of who is left."""


def forgotten(out: Path) -> set[str]:
    """Return the pseudonyms of who was forgotten. Raises GraderError for a file of other make."""
    try:
        data = json.loads((out / _FILE).read_bytes())
        return {str(each) for each in data["students"]}
    except FileNotFoundError:
        return set()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GraderError(f"{out / _FILE} cannot be read ({error}); restore it") from None


def remember_to_forget(out: Path, students: Collection[str]) -> None:
    """Write down who was forgotten, by pseudonyms. Raises OSError."""
    write_atomically(out / _FILE, {"students": sorted(students)})


def student_called(
    identity: str, hand_ins: Sequence[HandIn], roster: Roster, names: Pseudonyms, owned: Owners
) -> Student:
    """Return the student of an id. Raises UsageError where nobody has it, or ever had."""
    known = [*roster.students, *(who for each in hand_ins for who in roster.authors(each))]
    found = next((each for each in known if each.id == identity), None)
    if found is None and any(names.of(identity) in students for students in owned.values()):
        return Student(identity, {"id": identity})  # whose hand-ins were removed before
    if found is None:
        raise UsageError(
            f"no student here has the id {identity!r:.60}; the gradebook lists all ids"
        )
    return found


def without(
    hand_ins: Sequence[HandIn], roster: Roster, names: Pseudonyms, gone: Collection[str]
) -> tuple[list[HandIn], Roster]:
    """Return what is left: hand-ins of somebody else as well, and the others on the roster."""

    def is_gone(student: Student) -> bool:
        return names.of(student.id) in gone

    left = replace(roster, is_gone=is_gone)
    return [each for each in hand_ins if left.authors(each) or not roster.authors(each)], left


def remove(
    out: Path,
    gradings: Gradings,
    pseudonym: str,
    gone: Sequence[HandIn],
    left: Sequence[HandIn],
) -> int:
    """Remove reports, gradings and copies of a student; return how many gradings there were.

    gone: hand-ins of nobody else. left: those of others; a grading of the same files stays theirs.
    What the platform delivered is not ours to remove.
    """
    owned, nobodys = owners.without(owners.read(out), pseudonym)
    digests = ({each.digest for each in gone} | nobodys) - {each.digest for each in left}
    keys = gradings.keys_of(digests)
    for key in keys:
        gradings.remove(key)
    for folder in ("students", "marking"):
        shutil.rmtree(out / folder / pseudonym, ignore_errors=True)
    kept = {each.label for each in left}
    for copy in (out / "assembled").glob("*"):
        if copy.name not in kept:
            shutil.rmtree(copy, ignore_errors=True)
    shutil.rmtree(out / "pairs", ignore_errors=True)
    # Logs of a cluster's workers name the hand-ins.
    shutil.rmtree(out / "parsl", ignore_errors=True)
    for file in [file for pattern in _WITH_NAMES for file in out.glob(pattern)]:
        file.unlink(missing_ok=True)
    published = publication.read(out / publication.NAME)
    still = {digest: key for digest, key in published.items() if digest not in digests}
    publication.write(out / publication.NAME, still)
    owners.write(out, owned)
    return len(keys)
