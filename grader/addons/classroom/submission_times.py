"""When each hand-in was submitted: a table of ours, or the worksheet that Moodle exports."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path

from grader.addons.classroom.class_file import zoned
from grader.addons.classroom.csv_tables import read_table
from grader.model.errors import UsageError

_COLUMNS = ("hand_in", "submitted_at")
_IDENTIFIER, _WHEN = "identifier", "last modified (submission)"
_OF_MOODLE = (
    "%A, %d %B %Y, %I:%M %p",
    "%A, %B %d, %Y, %I:%M %p",
    "%A, %d %B %Y, %H:%M",
    "%A, %B %d, %Y, %H:%M",
)
"""As Moodle writes times in English: of England and of America, with 12 hours and with 24."""


def read(file: Path, zone: tzinfo) -> dict[str, datetime]:
    """Return when each hand-in was submitted, by what the platform has called it.

    file: a CSV with the columns hand_in and submitted_at, or Moodle's offline grading worksheet.
    Raises UsageError with the line that is wrong.
    """
    rows = read_table(file)
    if rows and {_IDENTIFIER, _WHEN} <= rows[0][1].keys():
        return dict(_of_worksheet(file, rows, zone))
    times = {}
    for number, row in read_table(file, required=_COLUMNS, known=_COLUMNS):
        if row["hand_in"] in times:
            raise UsageError(f"{file}, line {number}: {row['hand_in']} appears twice")
        try:
            if ":" not in row["submitted_at"]:
                raise ValueError("a day is not a time")
            times[row["hand_in"]] = zoned(datetime.fromisoformat(row["submitted_at"]), zone)
        except ValueError:
            raise UsageError(
                f"{file}, line {number}: found {row['submitted_at']!r:.40}; expected a time such "
                "as 2026-11-20T23:59:00+01:00"
            ) from None
    return times


def _of_worksheet(
    file: Path, rows: Sequence[tuple[int, Mapping[str, str]]], zone: tzinfo
) -> Iterator[tuple[str, datetime]]:
    """Yield the folder that Moodle delivers, by its name, and the time of each submission."""
    for number, row in rows:
        if row[_WHEN] in ("", "-"):
            continue
        at = next(filter(None, (_parsed(row[_WHEN], form) for form in _OF_MOODLE)), None)
        if at is None:
            raise UsageError(
                f"{file}, line {number}: found {row[_WHEN]!r:.60}; expected a time as Moodle "
                "writes it in English, such as Friday, 20 November 2026, 11:58 PM"
            )
        participant = row[_IDENTIFIER].rpartition(" ")[2]
        if not participant.isdecimal():
            raise UsageError(
                f"{file}, line {number}: found the identifier {row[_IDENTIFIER]!r:.60}; expected "
                "one as Moodle writes it in English, such as Participant 4711"
            )
        # As Moodle does: what a student is called has no part in whose the number is.
        name = (row.get("full name") or "Participant").replace("_", " ")
        yield f"{name}_{participant}_assignsubmission_file_", at.replace(tzinfo=zone)


def _parsed(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form)
    except ValueError:
        return None
