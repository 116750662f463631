"""The mark of one hand-in: points from tests and by hand."""

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.addons.classroom.gradings import Grading
from grader.addons.classroom.tables import read_table, read_text
from grader.model.errors import UsageError
from grader.model.points import points_text, total, written
from grader.model.report import ManualPart, Report, Verdict

WHOLE = "all"
"""The row with points for a whole hand-in."""
BY_CLASS_FILE = "class.toml"
COLUMNS = ("id", "row", "points", "max_points", "title", "comment", "by", "digest")
DIGEST_PREFIX = "sha256:"
"""Without it, a spreadsheet would take 12e4567 for a number."""
_UNUSED_FILE = "note.unused_file"
"""The key of a note about a file that may be the one asked for."""


@dataclass(frozen=True)
class Given:
    """Points given by hand for one line."""

    points: float
    comment: str
    where: str
    """The file and line, for whoever has to correct it."""
    digest: str = ""
    """The beginning of the digest of the marked hand-in; empty for any."""
    by: str = ""
    """Who gave them; empty if unknown."""

    def is_for(self, digest: str) -> bool:
        """Return whether it was given for the hand-in with this digest."""
        return digest.startswith(self.digest)


Marks = Mapping[str, Mapping[str, Given]]
"""By the id of a student or the name of a group, and by the line: a manual part, or a part."""


def read(files: Sequence[Path]) -> Marks:
    """Return the marks in files: CSVs with columns id, row, points, comment and by, or TOMLs.

    In a TOML each student is a table, in which each line is `{ points = 2, comment = "..." }`. A
    line of a CSV without points is one that is still to be marked. Raises UsageError, which names
    all conflicts.
    """
    found: dict[str, dict[str, Given]] = {}
    conflicts = []
    for file in files:
        for where, entry in _of_toml(file) if file.suffix == ".toml" else _of_csv(file):
            comment, digest, by = (str(entry.get(key, "")) for key in ("comment", "digest", "by"))
            points = _points(entry.get("points"), where)
            given = Given(points, comment, where, digest.removeprefix(DIGEST_PREFIX), by)
            student, row = entry["id"], entry["row"]
            earlier = found.setdefault(student, {}).setdefault(row, given)
            if earlier is not given:
                conflicts.append(
                    f"{where}: {row} of {student} also has points in {earlier.where}; "
                    "keep only the entry that counts"
                )
    if conflicts:
        raise UsageError(*conflicts)
    return found


def _of_csv(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, row in read_table(file, required=("id", "row", "points"), known=COLUMNS):
        if row["points"]:
            yield f"{file}, line {number}", row


def _of_toml(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        data = tomllib.loads(read_text(file, "a TOML file"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file} is not valid TOML: {error}") from None
    for student, rows in data.items():
        for row, entry in _table(rows, f"{file}: {student}").items():
            where = f"{file}: {student}.{row}"
            yield where, {**_table(entry, where), "id": student, "row": row}


def _table(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{where}: found {value!r:.40}; expected a table")
    return value


def _points(value: object, where: str) -> float:
    try:
        points = float(str(value).replace(",", "."))
    except ValueError:
        points = math.nan
    if not math.isfinite(points) or points < 0:
        raise UsageError(f"{where}: found {value!r:.40}; expected a number of points, at least 0")
    return points


@dataclass(frozen=True)
class Questions:
    """The questions graded by hand, and what counts if nothing was handed in for one."""

    rubrics: Mapping[str, Sequence[tuple[float, str]]] = field(default_factory=dict)
    """Points and question of each line of a manual part's rubric, by the name of the part."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The file that each manual part asks for."""
    max_points: float = 0.0
    """Of all parts of the class; 0 if no assignment is named."""
    missing_is_zero: bool = False
    """A missing file gets 0 points; otherwise its points are given by hand."""


@dataclass(frozen=True)
class Row:
    """One line that a person marks, or has marked."""

    name: str
    """Of a part or a manual part, of a line of its rubric such as `method/2`, or WHOLE."""
    title: str
    max_points: float
    found: str
    """What was handed in for it."""
    given: Given | None = None
    is_missing: bool = False
    """Nothing was handed in for it."""


@dataclass(frozen=True)
class Mark:
    """What a hand-in is worth before any rule about lateness."""

    automatic: float | None
    """From the tests of all parts that no person settles; None if there are none."""
    automatic_max: float
    rows: tuple[Row, ...]
    """What a person marks."""
    settled: tuple[Row, ...]
    """Rows that replace the tests' points: parts, or WHOLE."""
    score: float | None
    """Of both together; None while a row must be reviewed."""
    problem: str
    """Why there is no score: one sentence, empty where there is one."""

    @property
    def overruled(self) -> Mapping[str, Given]:
        """Return the points given in place of the tests' points."""
        return {row.name: row.given for row in self.settled if row.given is not None}

    @property
    def lines(self) -> tuple[Row, ...]:
        """Return all that a person fills in, or has filled in."""
        return (*self.settled, *self.rows)

    @property
    def markers(self) -> list[str]:
        """Return who gave points, as far as known."""
        return sorted({row.given.by for row in self.lines if row.given and row.given.by})

    @property
    def pending(self) -> float:
        """Return the points that must still be given by hand."""
        return total(row.max_points for row in self.rows if row.given is None)

    @property
    def given(self) -> float:
        """Return all points that people gave."""
        return total(row.given.points for row in self.lines if row.given is not None)

    @property
    def max_score(self) -> float:
        """Return what all of it is worth."""
        return total([self.automatic_max, *(row.max_points for row in self.lines)])


def mark(grading: Grading | None, given: Mapping[str, Given], questions: Questions) -> Mark | None:
    """Return the mark of a hand-in; None where it has no grading and nobody has settled it.

    given: by the name of a manual part, of a line of its rubric such as `method/2`, of a part
    whose points were given by hand, or WHOLE. Raises UsageError for points for something that does
    not exist, or for more than it is worth.
    """
    report = grading.report if grading is not None else None
    if report is None or WHOLE in given:
        return _as_a_whole(grading, given, questions)
    parts = report.manual_parts
    rows = tuple(row for part in parts for row in _rows(part, report, given, questions))
    _require_known(report, rows, given)
    noted = [(part.name, note) for part in report.parts for note in part.notes]
    misnamed = {name: note.text for name, note in noted if note.key == _UNUSED_FILE}
    settled = tuple(
        Row(part.name, part.message or part.title, part.max_points, "", given.get(part.name))
        for part in report.parts
        if part.needs_review
        or part.verdict is Verdict.JUDGE_ERROR
        or part.name in {*given, *misnamed}
    )
    others = [part for part in report.parts if part.name not in {row.name for row in settled}]
    automatic = total(part.points for part in others) if others else None
    automatic_max = total(part.max_points for part in others)
    left = [row.name for row in settled if row.given is None]
    doubtful = ", ".join(name for name in left if name not in misnamed)
    problems = [f"{doubtful} must be reviewed by hand"] if doubtful else []
    problems += [f"{name}: {misnamed[name]}" for name in left if name in misnamed]
    given_points = [row.given.points for row in (*settled, *rows) if row.given is not None]
    score = None if problems else total([automatic or 0.0, *given_points])
    return Mark(automatic, automatic_max, rows, settled, score, "; ".join(problems))


def to_settle(problem: str, max_points: float) -> Row:
    """Return the line for a hand-in that has no grading."""
    return Row(WHOLE, problem, max_points, "")


def max_of(report: Report) -> float:
    """Return what all parts of a hand-in are worth, including those graded by hand."""
    return total([report.max_score, *(part.max_points for part in report.manual_parts)])


def _as_a_whole(
    grading: Grading | None, given: Mapping[str, Given], questions: Questions
) -> Mark | None:
    """Return the mark of a hand-in without a report, or with points for the whole of it."""
    report = grading.report if grading is not None else None
    most = max_of(report) if report is not None else questions.max_points
    whole = given.get(WHOLE)
    problem = ""
    if grading is not None and report is None:
        is_empty = grading.outcome.is_empty
        error = "the hand-in is empty" if is_empty else grading.outcome.error
        problem = f"cannot be graded: {error}"
        whole = whole or (_zero(error, questions) if is_empty else None)
    if whole is None:
        settled = to_settle(problem, most)
        return None if grading is None else Mark(None, 0.0, (), (settled,), None, problem)
    if mistakes := _too_many(WHOLE, whole, most or whole.points):
        raise UsageError(*mistakes)
    row = Row(WHOLE, problem or "the whole hand-in", most, "", whole)
    return Mark(None, 0.0, (), (row,), whole.points, "")


def _zero(why: str, questions: Questions) -> Given | None:
    """Return the zero that class.toml gives for missing work; None if it is marked by hand."""
    if not questions.missing_is_zero:
        return None
    return Given(0.0, why, BY_CLASS_FILE, by=BY_CLASS_FILE)


def _rows(
    part: ManualPart, report: Report, given: Mapping[str, Given], questions: Questions
) -> Iterator[Row]:
    """Yield the rows of a manual part: one for the whole, or one for each line of its rubric.

    One for the whole if it has no rubric, or if points were given for the whole.
    """
    file = questions.files.get(part.name)
    # Reports of earlier versions have no table of files.
    is_asked = bool(file and report.files)
    is_missing = is_asked and all(each.file != file for each in report.files)
    zero = _zero(part.found, questions) if is_missing else None
    lines = [
        (f"{part.name}/{number}", f"{part.title}: {asked}", points)
        for number, (points, asked) in enumerate(questions.rubrics.get(part.name, ()), 1)
    ]
    if not lines or part.name in given:
        lines = [(part.name, part.title, part.max_points)]
    for name, title, most in lines:
        yield Row(name, title, most, part.found, given.get(name) or zero, is_missing)


def _require_known(report: Report, rows: Sequence[Row], given: Mapping[str, Given]) -> None:
    most = {part.name: part.max_points for part in report.parts}
    most |= {row.name: row.max_points for row in rows}
    mistakes = []
    for name, each in given.items():
        if name not in most and (whole := given.get(part := name.rpartition("/")[0])):
            text = f"{whole.where}: {part} also has points in {each.where}; keep only the points"
            mistakes.append(f"{text} for its questions, or only those for the whole part")
        elif name not in most:
            mistakes.append(
                f"{each.where}: {report.assignment} has no {name!r:.60} to grade by hand; "
                f"expected one of: {', '.join((*most, WHOLE))}"
            )
        else:
            mistakes += _too_many(name, each, most[name])
    if mistakes:
        raise UsageError(*mistakes)


def _too_many(name: str, each: Given, most: float) -> list[str]:
    """Return that these are more points than there are, if so."""
    if each.points <= most:
        return []
    return [f"{each.where}: {points_text(each.points)}, but {name} is worth {written(most)}"]
