"""The mark of one hand-in: what its tests gave, and what people gave beside or instead of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.classroom.gradings import Grading
from grader.classroom.manual_marks import Given
from grader.errors import UsageError
from grader.model import ManualPart, Report
from grader.points import total, written

Rubrics = Mapping[str, Sequence[tuple[float, str]]]
"""Points and question of each line of a manual part's rubric, by the name of the part."""


@dataclass(frozen=True)
class Row:
    """One line that a person marks, or has marked."""

    name: str
    """Of the manual part, or of a line of its rubric: `method`, `method/2`."""
    title: str
    max_points: float
    found: str
    """What was handed in for it."""
    given: Given | None = None


@dataclass(frozen=True)
class Mark:
    """What a hand-in is worth before any rule about lateness."""

    automatic: float | None
    """Of the tests alone, as they found it; None where they give no mark."""
    automatic_max: float
    rows: tuple[Row, ...]
    """What a person marks."""
    overruled: Mapping[str, Given]
    """Parts for which a person's points stand in place of the tests'."""
    score: float | None
    """Of both together; None as long as a person has to look."""
    problem: str
    """Why there is no score: one sentence, empty where there is one."""

    @property
    def pending(self) -> float:
        """Return the points that a person has still to give."""
        return total(row.max_points for row in self.rows if row.given is None)

    @property
    def given(self) -> float:
        """Return the points that people gave in the lines that they mark."""
        return total(row.given.points for row in self.rows if row.given is not None)

    @property
    def max_score(self) -> float:
        """Return what all of it is worth."""
        return total([self.automatic_max, *(row.max_points for row in self.rows)])


def mark(grading: Grading, given: Mapping[str, Given], rubrics: Rubrics) -> Mark:
    """Return the mark of a grading that has ended.

    given: by the name of a manual part, of a line of its rubric such as `method/2`, or of a part
    whose points a person has settled. Raises UsageError for points of something that is not there,
    or for more than it is worth.
    """
    report = grading.report
    if report is None:
        return Mark(None, 0.0, (), {}, None, f"cannot be graded: {grading.outcome.error}")
    rows = tuple(row for part in report.manual_parts for row in rows_of(part, given, rubrics))
    _require_known(report, rows, given)
    overruled = {part.name: given[part.name] for part in report.parts if part.name in given}
    left = [part for part in report.parts if part.name not in overruled]
    doubtful = [part.name for part in left if part.needs_review]
    automatic = None if report.review else report.score
    if doubtful:
        problem = f"review {', '.join(doubtful)}"
        return Mark(automatic, report.max_score, rows, overruled, None, problem)
    points = [part.points for part in left]
    points += [each.points for each in overruled.values()]
    points += [row.given.points for row in rows if row.given is not None]
    return Mark(automatic, report.max_score, rows, overruled, total(points), "")


def rows_of(part: ManualPart, given: Mapping[str, Given], rubrics: Rubrics) -> Iterator[Row]:
    """Yield what a person marks of a manual part: it as a whole, or else each line of its rubric.

    As a whole where it has no rubric, or where points were given for the whole.
    """
    lines = rubrics.get(part.name, ())
    if not lines or part.name in given:
        yield Row(part.name, part.title, part.max_points, part.found, given.get(part.name))
        return
    for number, (points, asked) in enumerate(lines, 1):
        name = f"{part.name}/{number}"
        yield Row(name, f"{part.title}: {asked}", points, part.found, given.get(name))


def _require_known(report: Report, rows: Sequence[Row], given: Mapping[str, Given]) -> None:
    most = {part.name: part.max_points for part in report.parts}
    most |= {row.name: row.max_points for row in rows}
    for name, each in given.items():
        if name not in most:
            raise UsageError(
                f"{each.where}: {report.assignment} has no {name!r:.60} to grade by hand; "
                f"expected one of: {', '.join(most)}"
            )
        if each.points > most[name]:
            raise UsageError(
                f"{each.where}: {written(each.points)} points, but {name} is worth "
                f"{written(most[name])}"
            )
