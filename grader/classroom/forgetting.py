"""Removes all that is kept of a student, and keeps it from coming back."""

import json
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path

from grader.classroom.gradings import Gradings, write_atomically
from grader.classroom.hand_in import HandIn, Student
from grader.classroom.pseudonyms import Pseudonyms
from grader.classroom.roster import Roster
from grader.errors import GraderError, UsageError

_FILE = "forgotten.json"


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


def student_called(identity: str, hand_ins: Sequence[HandIn], roster: Roster) -> Student:
    """Return the student of an id. Raises UsageError where nobody has it."""
    known = [*roster.students, *(who for each in hand_ins for who in roster.authors(each))]
    found = next((each for each in known if each.id == identity), None)
    if found is None:
        raise UsageError(
            f"nobody here has the id {identity!r:.60}; the gradebook has those of everybody"
        )
    return found


def without(
    hand_ins: Sequence[HandIn], roster: Roster, names: Pseudonyms, gone: Collection[str]
) -> tuple[list[HandIn], Roster]:
    """Return what is left: hand-ins of somebody else as well, and the others on the roster."""

    def is_gone(student: Student) -> bool:
        return names.of(student.id) in gone

    left = []
    for each in hand_ins:
        authors = roster.authors(each)
        if not authors or not all(map(is_gone, authors)):
            left.append(each)
    if not roster.students:
        return left, roster
    return left, Roster(tuple(each for each in roster.students if not is_gone(each)))


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
    used = {each.digest for each in left}
    keys = gradings.keys_of({each.digest for each in gone} - used)
    for key in keys:
        gradings.remove(key)
    for folder in ("students", "marking"):
        shutil.rmtree(out / folder / pseudonym, ignore_errors=True)
    for each in gone:
        shutil.rmtree(out / "assembled" / each.label, ignore_errors=True)
    # Logs of a cluster's workers name the hand-ins.
    shutil.rmtree(out / "parsl", ignore_errors=True)
    for file in (
        "regrade.csv",
        "canvas-feedback.zip",
        "moodle-feedback.zip",
        "canvas-grades.csv",
        "moodle-grades.csv",
        "to-mark.csv",
    ):
        (out / file).unlink(missing_ok=True)
    return len(keys)
