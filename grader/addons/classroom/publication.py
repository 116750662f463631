"""Keeps which grading of each hand-in is published, and compares it with a regrade."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from grader.addons.classroom.class_folder import read_json, write_atomically
from grader.addons.classroom.standing import Standing
from grader.addons.classroom.tables import bounded, grouped, table_text
from grader.model.plural import counted
from grader.model.points import written
from grader.model.report import Report, TestResult, Versions
from grader.report.safe_text import one_line

_FILE = "published.json"
_HEAD = (
    *("id", "group", "mark before", "mark after"),
    *("test", "before", "after", "why"),
)


def read(out: Path) -> dict[str, str]:
    """Return the keys of published gradings by digests of hand-ins. Raises GraderError."""
    return read_json(out / _FILE, dict[str, str]) or {}


def write(out: Path, published: Mapping[str, str]) -> None:
    """Write it, in one step. Raises OSError."""
    write_atomically(out / _FILE, published)


def falling_back(
    keys: Mapping[str, str], published: Mapping[str, str], problems: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the keys, with published ones in place of those with a problem, and other problems.

    All are by digest. A regrade that fails takes away no mark. If a hand-in could not be graded
    before either, it keeps today's reason.
    """
    stays = {
        digest: published[digest]
        for digest in problems
        if digest in published and published[digest] != keys[digest]
    }
    left = {digest: why for digest, why in problems.items() if digest not in stays}
    return {**keys, **stays}, left


@dataclass(frozen=True)
class Line:
    """A test, or a whole hand-in, that has changed."""

    test: str
    """Part and test; empty for the hand-in as a whole."""
    before: str
    now: str
    why: str


@dataclass(frozen=True)
class Regrade:
    """A student whose hand-in was graded again."""

    before: Standing
    now: Standing

    @property
    def marks(self) -> tuple[str, str]:
        """Return the marks before and now, or words that say why there are none."""
        return _told(self.before), _told(self.now)

    @property
    def changes_mark(self) -> bool:
        """Return whether the mark changes."""
        return self.marks[0] != self.marks[1]

    @property
    def lines(self) -> tuple[Line, ...]:
        """Return what has changed, test by test; none where nothing has."""
        old, new = self.before.report, self.now.report
        if self.before.identity != self.now.identity:
            return (Line("", *self.marks, "another hand-in counts"),)
        if (old is None) is not (new is None):
            return (Line("", *self.marks, one_line(self.now.problem or self.before.problem)),)
        found: tuple[Line, ...] = ()
        if old is not None and new is not None:
            if old.assignment != new.assignment:
                return (Line("", *self.marks, f"previously graded as {one_line(old.assignment)}"),)
            found = tuple(_changes(old, new))
        if found or not self.changes_mark:
            return found
        return (Line("", *self.marks, "points by hand, or a rule of the class"),)


def _told(standing: Standing) -> str:
    final, mark = standing.decision.final, standing.mark
    if final is None:
        return standing.status
    pending = f", {written(mark.pending)} pending" if mark is not None and mark.pending else ""
    return f"{written(round(final, 6))}{pending}"


def _changes(old: Report, new: Report) -> Iterator[Line]:
    """Yield tests with another verdict or other points, or that only one report has."""
    before, now = (
        {f"{part.name}: {test.name}": test for part in each.parts for test in part.tests}
        for each in (old, new)
    )
    for name in {**now, **before}:
        was, test = before.get(name), now.get(name)
        points = _points(was), _points(test)
        if was is None or test is None:
            yield Line(name, *points, "new" if was is None else "gone")
        elif was.verdict is not test.verdict:
            yield Line(name, was.verdict.value, test.verdict.value, one_line(test.message))
        elif points[0] != points[1]:
            yield Line(name, *points, "different points")
    given, is_given = (
        {each.name: written(each.max_points) for each in one.manual_parts} for one in (old, new)
    )
    for name in sorted({*given, *is_given}):
        if given.get(name) != is_given.get(name):
            yield Line(name, given.get(name, ""), is_given.get(name, ""), "points given by hand")


def _points(test: TestResult | None) -> str:
    return f"{written(test.points)} of {written(test.max_points)} points" if test else ""


def _why(old: Versions, new: Versions) -> list[str]:
    """Return what has changed between two gradings: engine, course, packages."""
    courses = [f"{one_line(each.course)} {each.course_digest[:12]}" for each in (old, new)]
    pairs = {
        "engine": (old.engine_digest[:12], new.engine_digest[:12]),
        "course": courses,
        "packages": (old.lock_digest[:12], new.lock_digest[:12]),
    }
    found = [
        f"{what} changed from {was} to {now}" for what, (was, now) in pairs.items() if was != now
    ]
    return found or ["the same engine, course, and packages"]


def render(regrades: Sequence[Regrade]) -> str:
    """Return a CSV with a line for each change, those that change a mark first."""
    first = sorted(regrades, key=lambda each: not each.changes_mark)
    rows = [
        (each.now.student.id, each.now.student.group, *each.marks, *astuple(line))
        for each in first
        for line in each.lines
    ]
    return table_text([_HEAD, *rows])


def summary(regrades: Sequence[Regrade]) -> Iterator[str]:
    """Yield how many marks change, what changed in the grader, and each changed mark."""
    changed = [each for each in regrades if each.changes_mark]
    marks = counted(len(changed), "mark changes", "marks change")
    kept = sum(each.before.works == each.now.works for each in regrades)
    yield f"{counted(len(regrades) - kept, 'student')} graded again: {marks}"
    if kept:
        yield f"  already graded with these versions, so not again: {counted(kept, 'student')}"
    reasons = {
        reason
        for each in regrades
        if each.before.report and each.now.report
        for reason in _why(each.before.report.versions, each.now.report.versions)
    }
    yield from (f"  {reason}" for reason in sorted(reasons))
    told = []
    for each in changed:
        before, now = each.marks
        tests = ", ".join(line.test for line in each.lines[:3] if line.test)
        told.append((each.now.student.id, f"{before} -> {now}{f' ({tests})' if tests else ''}"))
    yield from bounded(grouped(told), "listed in regrade.csv")
    if others := sum(bool(each.lines) for each in regrades if not each.changes_mark):
        more = " more" if changed else ""
        yield f"  marks unchanged despite new points or verdicts: {others}{more}"
