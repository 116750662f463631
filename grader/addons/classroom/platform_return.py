"""What goes back to a platform: its own table of grades, filled in, and feedback for each."""

import csv
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.addons.classroom.csv_tables import inert
from grader.addons.classroom.platform_table import PlatformTable
from grader.addons.classroom.roster import comparable
from grader.addons.classroom.standing import Standing
from grader.addons.classroom.student_reports import FORMATS, MARK, files_of, mark_lines
from grader.model.errors import UsageError
from grader.model.points import written
from grader.report.safe_text import visible

_WHEN = (1980, 1, 1, 0, 0, 0)
"""Of the files in a zip: the same marks make the same zip."""
_OURS = ("identifier", "grade", "maximum grade", "feedback comments")
"""Columns of Moodle's worksheet that no student fills in, beside times."""
_NO_FILE_NAME = re.compile(r'[\\:*?"<>|]')


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


def fill(table: PlatformTable, standings: Sequence[Standing]) -> Filled:
    """Return a platform's table with the final marks; pending ones are left as they are.

    Its other cells are as they were, but for what students may have written: a spreadsheet must
    not calculate it. Raises UsageError where the platform counts to another number of points than
    we do.
    """
    for worth in table.worths:
        _require_same(worth, standings, table)
    known = _by_key(standings, set(table.keys.values()))
    head = table.head
    num_filled, num_unknown, left = 0, 0, []
    kept = [at for at, name in enumerate(head) if not _is_students(name, table.platform)]
    rows = [
        list(table.rows[0]),
        *(
            [cell if at in kept else inert(cell) for at, cell in enumerate(row)]
            for row in table.rows[1:]
        ),
    ]
    for row in rows[1:]:
        if not table.is_somebodys(row):
            continue
        if len(row) != len(head):
            left.append(f"{row[0]} has {len(row)} cells; expected {len(head)}")
            continue
        found = _whose(row, head, table.keys, known)
        if found is None:
            num_unknown += 1
            left.append(f"{row[0]} was not graded")
        elif found.final is None:
            left.append(f"{found.student.id} has no final mark: {found.status}")
        else:
            row[table.at] = written(round(found.final, 6))
            if table.feedback is not None:
                lines = mark_lines(found)[1:]
                row[table.feedback] = inert("; ".join(line.removeprefix("- ") for line in lines))
            num_filled += 1
    if num_unknown and num_unknown == len(left) and not num_filled:
        left = [
            f"no student in {table.file} was graded here; export the table of this class, or "
            "add its ids and numbers to the roster"
        ]
    out = io.StringIO()
    csv.writer(out, delimiter=table.delimiter, lineterminator="\n").writerows(rows)
    return Filled(table.platform, out.getvalue(), num_filled, tuple(left))


def _is_students(column: str, platform: str) -> bool:
    """Return whether a student may have filled in a column: on Canvas the own name alone."""
    if platform == "canvas":
        return column == "Student"
    return column.lower() not in _OURS and not column.lower().startswith("last modified")


def _require_same(cell: str, standings: Sequence[Standing], table: PlatformTable) -> None:
    most = max((each.mark.max_score for each in standings if each.mark), default=0.0)
    possible = cell.strip().replace(",", ".")
    if most and possible.replace(".", "", 1).isdecimal() and float(possible) != most:
        raise UsageError(
            f"{table.file}: {table.assignment} is worth {possible} there, but {written(most)} "
            f"here; set that number of points in {table.platform.capitalize()} and export again"
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
    """Return the name of a file in a zip: visible, and one that any system unpacks where it says.

    `/` stands between folders.
    """
    parts = [_NO_FILE_NAME.sub("-", visible(part)).strip(" .") for part in name.split("/")]
    return "/".join(part or "-" for part in parts)


def _sent_back(standings: Sequence[Standing]) -> Mapping[str, Standing]:
    """Return whose feedback goes back under which name.

    Of a team, under the name of the hand-in goes that of who has sent it. On Moodle the others
    have folders of their own, as far as the roster has their numbers.
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
