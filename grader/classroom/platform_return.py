"""What goes back to a platform: its own table of grades, filled in, and feedback for each.

Canvas takes back the gradebook that it exports (Student, ID, SIS User ID, ..., a column for each
assignment, a line of possible points); Moodle the offline grading worksheet of an assignment
(Identifier, ..., Grade, Maximum Grade, ..., Feedback comments).
"""

import csv
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.classroom.gradebook import inert
from grader.classroom.roster import comparable, delimiter_of
from grader.classroom.standing import Standing, Work
from grader.classroom.student_reports import FORMATS, MARK, files_of
from grader.errors import UsageError
from grader.points import written

_CANVAS_ASSIGNMENT = re.compile(r".+ \(\d+\)")
_POSSIBLE = "points possible"
_WHEN = (1980, 1, 1, 0, 0, 0)
"""Of the files in a zip: the same marks make the same zip."""


@dataclass(frozen=True)
class Filled:
    """A table of grades to give back."""

    platform: str
    """`canvas` or `moodle`."""
    text: str
    """CSV."""
    num_filled: int
    left: tuple[str, ...]
    """Why lines were left as they were: a sentence each."""


def fill(text: str, file: str, standings: Sequence[Standing], column: str | None) -> Filled:
    """Return a platform's table with the final marks; pending ones are left as they are.

    file: its name, for what is wrong with it. column: of Canvas, which assignment; None where there
    is but one. Raises UsageError for a table of neither platform.
    """
    try:
        delimiter = delimiter_of(text)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = [row for row in reader if row]
    except csv.Error as error:
        raise UsageError(f"{file} is not CSV ({error}); export it again") from None
    head = [cell.strip().lstrip("\ufeff") for cell in rows[0]] if rows else []
    if {"Student", "ID"} <= set(head):
        platform, at = "canvas", _canvas_column(head, file, column)
        keys = {"ID": "canvas", "SIS User ID": "id", "SIS Login ID": "id"}
        _require_possible(rows, at, standings, file, head[at])
        feedback = None
    elif {"Identifier", "Grade"} <= set(head):
        platform, at = "moodle", head.index("Grade")
        _require_maximum(rows, head, standings, file)
        keys = {"Identifier": "moodle", "ID number": "id", "Email address": "email"}
        feedback = head.index("Feedback comments") if "Feedback comments" in head else None
    else:
        raise UsageError(
            f"{file} is a table of neither Canvas (Student, ID, ...) nor Moodle (Identifier, ..., "
            "Grade); export the gradebook of Canvas, or Moodle's offline grading worksheet"
        )
    known = _by_key(standings, set(keys.values()))
    num_filled, left = 0, []
    for row in rows[1:]:
        if _POSSIBLE in row[0].lower() or not any(row[: head.index(next(iter(keys))) + 1]):
            continue
        if len(row) != len(head):
            left.append(f"{row[0]} has {len(row)} cells; expected {len(head)}")
            continue
        found = _whose(row, head, keys, known)
        if found is None:
            left.append(f"{row[0]} is nobody who was graded")
        elif found.final is None:
            left.append(f"{found.student.id} has no final mark: {found.status}")
        else:
            row[at] = written(round(found.final, 6))
            if feedback is not None:
                row[feedback] = inert("; ".join(found.decision.reasons))
            num_filled += 1
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return Filled(platform, out.getvalue(), num_filled, tuple(left))


def _canvas_column(head: Sequence[str], file: str, column: str | None) -> int:
    known = [cell for cell in head if _CANVAS_ASSIGNMENT.fullmatch(cell)]
    wanted = [cell for cell in known if column is None or cell.startswith(column)]
    if len(wanted) != 1:
        raise UsageError(
            f"{file}: {len(wanted)} columns are {repr(column) if column else 'an assignment'}; "
            f"name one with --column: {', '.join(known) or 'there is none'}"
        )
    return head.index(wanted[0])


def _require_possible(
    rows: Sequence[Sequence[str]], at: int, standings: Sequence[Standing], file: str, name: str
) -> None:
    """Raise UsageError where Canvas counts to another number of points than we do."""
    for row in rows[1:3]:
        if _POSSIBLE in row[0].lower() and len(row) > at:
            _require_same(row[at], standings, f"{file}: {name}", "Canvas")


def _require_maximum(
    rows: Sequence[Sequence[str]], head: Sequence[str], standings: Sequence[Standing], file: str
) -> None:
    """Raise UsageError where Moodle counts to another number of points than we do."""
    if "Maximum Grade" in head:
        at = head.index("Maximum Grade")
        for value in sorted({row[at] for row in rows[1:] if len(row) > at}):
            _require_same(value, standings, f"{file}: the assignment", "Moodle")


def _require_same(cell: str, standings: Sequence[Standing], what: str, platform: str) -> None:
    most = max((each.mark.max_score for each in standings if each.mark), default=0.0)
    possible = cell.strip().replace(",", ".")
    if most and possible.replace(".", "", 1).isdecimal() and float(possible) != most:
        raise UsageError(
            f"{what} is worth {possible} there, and {written(most)} here; give it "
            f"that number of points in {platform} and export again"
        )


def _by_key(standings: Sequence[Standing], columns: set[str]) -> Mapping[tuple[str, str], Standing]:
    """Return who has which number or name on the platform; what two have is nobody's."""
    found: dict[tuple[str, str], list[Standing]] = {}
    for each in standings:
        for column in columns:
            value = each.student.id if column == "id" else each.student.known_as.get(column, "")
            # Not of what another one of the group has handed in.
            own = [work for work in each.works if work.sender == each.student.id]
            for work in own if not value else ():
                value = value or work.hand_in.who.get(column, "")
            if value:
                found.setdefault((column, comparable(value)), []).append(each)
    return {key: owners[0] for key, owners in found.items() if len(owners) == 1}


def _whose(
    row: Sequence[str],
    head: Sequence[str],
    keys: Mapping[str, str],
    known: Mapping[tuple[str, str], Standing],
) -> Standing | None:
    for name, column in keys.items():
        if name in head:
            value = comparable(row[head.index(name)]).removeprefix("participant ")
            if value and (column, value) in known:
                return known[column, value]
    return None


def feedback_zip(standings: Sequence[Standing]) -> bytes:
    """Return a zip of feedback, named as the platform had named what was handed in.

    Moodle reads whose a file is from its folder, Canvas from the numbers in the name of the file.
    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for label, (work, each) in sorted(_once(standings).items()):
            texts = files_of(each)
            sent_as = work.hand_in.sent_as or label
            is_moodle = label.endswith("_assignsubmission_file")
            for file in (FORMATS["html"], MARK):
                if file in texts:
                    name = f"{label}_/{file}" if is_moodle else f"{sent_as}_{file}"
                    # Zips have no names in no encoding.
                    shown = name.encode(errors="replace").decode()
                    archive.writestr(
                        zipfile.ZipInfo(shown, _WHEN), texts[file].encode(errors="replace")
                    )
    return made.getvalue()


def _once(standings: Sequence[Standing]) -> Mapping[str, tuple[Work, Standing]]:
    """Return what counts with whom it is sent back to: of a group, to who has handed it in."""
    found: dict[str, tuple[Work, Standing]] = {}
    for each in standings:
        work = each.counted
        if work is not None and (work.sender == each.student.id or work.hand_in.label not in found):
            found[work.hand_in.label] = (work, each)
    return found
