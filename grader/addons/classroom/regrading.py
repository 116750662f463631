"""What a regrade changes: whose mark, by which test, and why, before anybody is told."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

from grader.addons.classroom.csv_tables import table_text
from grader.addons.classroom.gradings import Grading
from grader.model.points import written
from grader.model.report import Report, TestResult
from grader.report.comparison import compare
from grader.report.safe_text import one_line

_HEAD = (
    *("hand_in", "pseudonyms", "score before", "score after"),
    *("test", "before", "after", "why"),
)


@dataclass(frozen=True)
class Line:
    """A test, or a whole hand-in, that is not what it was."""

    test: str
    """Part and test; empty for the hand-in as a whole."""
    before: str
    now: str
    why: str


@dataclass(frozen=True)
class Regrade:
    """A hand-in that was graded again."""

    label: str
    students: tuple[str, ...]
    """Pseudonyms."""
    before: Grading
    now: Grading

    @property
    def scores(self) -> tuple[str, str]:
        """Return the points before and now, or in words that there are none."""
        return _score(self.before.report), _score(self.now.report)

    @property
    def changes_mark(self) -> bool:
        """Return whether the mark is another one."""
        return self.scores[0] != self.scores[1]

    @property
    def lines(self) -> tuple[Line, ...]:
        """Return what has changed, test by test; none where nothing has."""
        old, new = self.before.report, self.now.report
        if old is None or new is None:
            if old is new:
                return ()
            said = (self.before.outcome.error, self.now.outcome.error)
            return (Line("", *self.scores, one_line(said[1] or said[0])),)
        try:
            found = compare(old, new)
        except ValueError as error:
            return (Line("", *self.scores, str(error)),)
        changed = tuple(
            Line(
                f"{change.part}: {change.test.name}",
                change.before.value,
                change.test.verdict.value,
                one_line(change.test.message),
            )
            for change in found.changes
        )
        prices = (*_repriced(old, new), *_by_people(old, new))
        return (*changed, *prices, *_appeared(old, new), *_appeared(new, old, is_gone=True))


def _appeared(old: Report, new: Report, *, is_gone: bool = False) -> Iterator[Line]:
    """Yield the tests of one report that the other does not have."""
    known = {(part.name, test.name) for part in old.parts for test in part.tests}
    for part in new.parts:
        for test in part.tests:
            if (part.name, test.name) not in known:
                points = _points(test)
                name = f"{part.name}: {test.name}"
                yield Line(name, points, "", "gone") if is_gone else Line(name, "", points, "new")


def _repriced(old: Report, new: Report) -> Iterator[Line]:
    """Yield the tests with the same verdict and other points."""
    before = {(part.name, test.name): test for part in old.parts for test in part.tests}
    for part in new.parts:
        for test in part.tests:
            was = before.get((part.name, test.name))
            if was is not None and was.verdict is test.verdict and _points(was) != _points(test):
                yield Line(f"{part.name}: {test.name}", _points(was), _points(test), "other points")


def _by_people(old: Report, new: Report) -> Iterator[Line]:
    """Yield what people can give otherwise than before."""
    before, now = (
        {each.name: written(each.max_points) for each in one.manual_parts} for one in (old, new)
    )
    for name in sorted({*before, *now}):
        was, is_now = before.get(name, ""), now.get(name, "")
        if was != is_now:
            yield Line(name, was, is_now, "points given by hand")


def _points(test: TestResult) -> str:
    return f"{written(test.points)} of {written(test.max_points)} points"


def why(before: Report, now: Report) -> list[str]:
    """Return what graded now that did not grade before: engine, course, packages."""
    old, new = before.versions, now.versions
    found = []
    if old.engine_digest != new.engine_digest:
        found.append(f"engine {old.engine_digest[:12]} became {new.engine_digest[:12]}")
    if (old.course, old.course_digest) != (new.course, new.course_digest):
        found.append(
            f"course {one_line(old.course)} {old.course_digest[:12]} became {one_line(new.course)} "
            f"{new.course_digest[:12]}"
        )
    if old.lock_digest != new.lock_digest:
        found.append(f"packages {old.lock_digest[:12]} became {new.lock_digest[:12]}")
    return found or ["the same engine, course and packages"]


def render(regrades: Sequence[Regrade]) -> str:
    """Return a CSV with a line for each change, those that change a mark first."""
    first = sorted(regrades, key=lambda each: not each.changes_mark)
    rows = [
        (each.label, " ".join(each.students), *each.scores, *astuple(line))
        for each in first
        for line in each.lines
    ]
    return table_text([_HEAD, *rows])


def summary(regrades: Sequence[Regrade]) -> Iterator[str]:
    """Yield how many marks change, each of those, and by what it was graded."""
    changed = [each for each in regrades if each.changes_mark]
    others = [each for each in regrades if not each.changes_mark and each.lines]
    yield f"{len(regrades)} graded again: {len(changed)} marks change"
    reasons = {
        reason
        for each in regrades
        if each.before.report and each.now.report
        for reason in why(each.before.report, each.now.report)
    }
    yield from (f"  {reason}" for reason in sorted(reasons))
    for each in changed:
        before, now = each.scores
        tests = ", ".join(line.test for line in each.lines[:3] if line.test)
        yield f"  {each.label}: {before} -> {now}{f' by {tests}' if tests else ''}"
    if others:
        yield f"  {len(others)} more have the same mark, but differ elsewhere"


def _score(report: Report | None) -> str:
    if report is None:
        return "cannot be graded"
    if report.review or report.score is None:
        return "needs review"
    return written(report.score)
