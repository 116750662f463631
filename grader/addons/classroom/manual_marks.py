"""What people have given: points and comments by student and line of a rubric."""

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.addons.classroom.csv_tables import read_table
from grader.model.errors import UsageError

COLUMNS = ("id", "row", "points", "max_points", "title", "comment", "by", "digest")
_DIGEST_PREFIX = "sha256:"
_DIGEST_NUM_CHARS = 12


@dataclass(frozen=True)
class Given:
    """What a person gave for one line."""

    points: float
    comment: str
    where: str
    """The file and line, for whoever has to correct it."""
    digest: str = ""
    """How the digest of the hand-in begins that the person has marked; empty for any."""
    by: str = ""
    """Who gave them; empty where nobody says."""

    def is_for(self, digest: str) -> bool:
        """Return whether it was given for the hand-in with this digest."""
        return digest.startswith(self.digest)


def short_digest(digest: str) -> str:
    """Return how a table names a hand-in: a spreadsheet takes 12e4567 for a number."""
    return f"{_DIGEST_PREFIX}{digest[:_DIGEST_NUM_CHARS]}"


Marks = Mapping[str, Mapping[str, Given]]
"""By the id of a student or the name of a group, and by the line: a manual part, or a part."""


def read(files: Sequence[Path]) -> Marks:
    """Return the marks in files: CSVs with columns id, row, points, comment and by, or TOMLs.

    In a TOML each student is a table, in which each line is `{ points = 2, comment = "..." }`. A
    line of a CSV without points is one that is still to be marked. Raises UsageError.
    """
    found: dict[str, dict[str, Given]] = {}
    for file in files:
        entries = _of_toml(file) if file.suffix == ".toml" else _of_csv(file)
        for student, row, given in entries:
            rows = found.setdefault(student, {})
            if row in rows:
                raise UsageError(
                    f"{given.where}: {row} of {student} also has points in {rows[row].where}; "
                    "keep only the one that counts"
                )
            rows[row] = given
    return found


def _of_csv(file: Path) -> Iterator[tuple[str, str, Given]]:
    for number, row in read_table(file, required=("id", "row", "points"), known=COLUMNS):
        where = f"{file}, line {number}"
        if row["points"]:
            points = _points(row["points"].replace(",", "."), where)
            digest = row.get("digest", "").removeprefix(_DIGEST_PREFIX)
            given = Given(points, row.get("comment", ""), where, digest, row.get("by", ""))
            yield row["id"], row["row"], given


def _of_toml(file: Path) -> Iterator[tuple[str, str, Given]]:
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    except ValueError as error:  # also of what is no UTF-8
        raise UsageError(f"{file} is not valid TOML: {error}") from None
    for student, rows in data.items():
        for row, entry in _table(rows, f"{file}: {student}").items():
            where = f"{file}: {student}.{row}"
            given = _table(entry, where)
            points = _points(given.get("points"), where)
            comment, by = (str(given.get(key, "")) for key in ("comment", "by"))
            yield student, row, Given(points, comment, where, by=by)


def _table(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{where}: found {value!r:.40}; expected a table")
    return value


def _points(value: object, where: str) -> float:
    try:
        points = float(value) if isinstance(value, str | int | float) else math.nan
    except ValueError:
        points = math.nan
    if not math.isfinite(points) or points < 0:
        raise UsageError(f"{where}: found {value!r:.40}; expected points, a number of 0 or more")
    return points
