"""Whose each hand-in was that was ever graded: who is forgotten may have handed in more before."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.addons.classroom.gradings import write_atomically
from grader.addons.classroom.hand_in import HandIn
from grader.addons.classroom.pseudonyms import Pseudonyms
from grader.addons.classroom.roster import Roster
from grader.model.errors import GraderError

_FILE = "owners.json"
Owners = Mapping[str, Sequence[str]]
"""Pseudonyms by the digest of a hand-in."""


def read(out: Path) -> Owners:
    """Return whose they are; nobody's without the file. Raises GraderError for another file."""
    try:
        data = json.loads((out / _FILE).read_bytes())
        return {digest: [str(each) for each in students] for digest, students in data.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise GraderError(f"{out / _FILE} cannot be read ({error}); restore it") from None


def is_known(before: Owners, hand_ins: Sequence[HandIn], roster: Roster, names: Pseudonyms) -> bool:
    """Return whether these can be hand-ins of the class of before: one of them, or of one in it."""
    students = {name for own in before.values() for name in own}
    now = {names.of(student.id) for each in hand_ins for student in roster.authors(each)}
    return (
        not before
        or not now
        or bool(students & now)
        or any(each.digest in before for each in hand_ins)
    )


def remember(
    out: Path, before: Owners, hand_ins: Sequence[HandIn], roster: Roster, names: Pseudonyms
) -> None:
    """Add what is handed in now. Raises OSError."""
    now: dict[str, set[str]] = {}
    for each in hand_ins:
        authors = {names.of(student.id) for student in roster.authors(each)}
        now.setdefault(each.digest, set()).update(authors)
    write(out, {**before, **{digest: sorted(students) for digest, students in now.items()}})


def write(out: Path, owners: Owners) -> None:
    """Write it, in one step. Raises OSError."""
    write_atomically(out / _FILE, dict(owners))


def without(owners: Owners, student: str) -> tuple[Owners, set[str]]:
    """Return them without a student, and the digests of what is now nobody's."""
    left = {digest: [each for each in own if each != student] for digest, own in owners.items()}
    gone = {digest for digest, own in owners.items() if own and not left[digest]}
    return {digest: own for digest, own in left.items() if digest not in gone}, gone
