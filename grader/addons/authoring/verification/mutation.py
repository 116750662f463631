"""Small mistakes in a right solution, graded: what no test finds is a hole in a suite.

A mutant is a file of the reference with one change; a near miss is a result that is slightly wrong.
"""

import csv
import io
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.addons.authoring.mutants import Mutant, mutants
from grader.course.assignment import Assignment
from grader.course.course import Course
from grader.course.courses import Courses
from grader.grading import pipeline
from grader.grading.settings import Settings
from grader.grading_plugin.selection import Selection
from grader.judge.explanation.launch_result import explaining
from grader.model.errors import GraderError
from grader.model.report import Report, Verdict
from grader.recording.launch_plan import LaunchPlan
from grader.recording.observation import CaseObservation, LaunchObservation, Observer


@dataclass(frozen=True)
class Grader:
    """Grades submissions of one assignment, all with one forkserver."""

    course: Course
    assignment: Assignment
    settings: Settings
    observe: Observer
    """What puts plans to ranks."""
    progress: Callable[[str], None]

    def grade(self, folder: Path, *parts: str, **changes: object) -> Report:
        """Grade a folder, all parts of it or these. Raises UsageError, GraderError."""
        return pipeline.grade(
            folder,
            assignment=self.assignment.name,
            parts=parts or None,
            settings=replace(self.settings, **changes),  # type: ignore[arg-type] # as Settings says
        )


def grader_of(
    course: Course,
    assignment: Assignment,
    observe: Observer,
    progress: Callable[[str], None] = lambda text: None,
) -> Grader:
    """Return what grades submissions of an assignment of a course."""
    settings = Settings(
        courses=Courses((course,)),
        launch=explaining(observe),
        # What a label says holds for those as well who do not have the hidden tests.
        grades_hidden=False,
    )
    return Grader(course, assignment, settings, observe, progress)


@dataclass(frozen=True, order=True)
class Row:
    """One mutant of one reference file, and what became of it."""

    assignment: str
    file: str
    line: int
    """Of the reference, from 1."""
    operator: str
    before: str
    after: str
    occurrence: int
    """From 0: tells apart the same change in several places of one line."""
    verdict: str
    """Of the first test that does not hold; ACCEPTED for one that nobody finds."""
    killed_by: str
    """That test, behind its part: `ring_allreduce: test_any_length`; empty for a survivor."""

    @property
    def key(self) -> str:
        """Return what names the mutant wherever its line has moved to."""
        return f"{self.file}: {self.operator}: {self.before} => {self.after} ({self.occurrence})"


def render(rows: Iterable[Row]) -> str:
    """Return the rows as CSV, in order."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in sorted(rows))
    return text.getvalue()


def parse(text: str) -> list[Row]:
    """Return the rows of a CSV that `render` wrote. Raises GraderError for any other."""
    try:
        return [_row(each) for each in csv.DictReader(io.StringIO(text))]
    except (KeyError, TypeError, ValueError) as error:
        raise GraderError(f"the kill matrix cannot be read: {error}") from None


def _row(cells: dict[str, str]) -> Row:
    numbers = {name: int(cells.pop(name)) for name in ("line", "occurrence")}
    return Row(**cells, **numbers)  # type: ignore[arg-type] # a cell too many is a TypeError


def reasons(text: str) -> Mapping[str, str]:
    """Return why survivors need not be found, by their keys, from a TOML table of reasons.

    Raises GraderError for a text that is no TOML.
    """
    try:
        return {key: str(why) for key, why in tomllib.loads(text).items()}
    except tomllib.TOMLDecodeError as error:
        raise GraderError(f"the reasons of equivalent mutants cannot be read: {error}") from None


def unexplained(rows: Iterable[Row], reasons_by_key: Mapping[str, str]) -> list[Row]:
    """Return the survivors for which nobody has said why they are equivalent."""
    return [row for row in rows if not row.killed_by and not reasons_by_key.get(row.key)]


def summary(rows: Iterable[Row], reasons_by_key: Mapping[str, str]) -> str:
    """Return a Markdown table: by file, how many mutants are found, equivalent, and neither."""
    lines = ["| reference | mutants | killed | equivalent | missed |", "|---|---:|---:|---:|---:|"]
    by_file: dict[str, list[Row]] = {}
    for row in sorted(rows):
        by_file.setdefault(row.file, []).append(row)
    for file, found in by_file.items():
        killed = sum(bool(row.killed_by) for row in found)
        missed = len(unexplained(found, reasons_by_key))
        equivalent = len(found) - killed - missed
        lines.append(f"| `{file}` | {len(found)} | {killed} | {equivalent} | {missed} |")
    return "\n".join(lines) + "\n"


def changeable_names(observations: Iterable[LaunchObservation]) -> list[str]:
    """Return the results that held floating-point numbers, on any rank of any case."""
    ranks = (rank for observed in observations for case in observed.cases for rank in case.ranks)
    return sorted({name for rank in ranks for name in _changeable(rank.arrays)})


@dataclass(frozen=True)
class NearMiss:
    """An observer of which one result is too large; what the ranks did stays right."""

    inner: Observer
    name: str
    relative: float
    """By how much of itself each of its numbers is too large."""

    def observe(self, plan: LaunchPlan) -> LaunchObservation:
        """Put a plan to ranks; change what comes back."""
        observed = self.inner(plan)
        return replace(observed, cases=tuple(map(self._missed, observed.cases)))

    def _missed(self, case: CaseObservation) -> CaseObservation:
        ranks = (replace(rank, arrays=self._changed(rank.arrays)) for rank in case.ranks)
        return replace(case, ranks=tuple(ranks))

    def _changed(self, arrays: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        if self.name not in _changeable(arrays):
            return arrays
        right = arrays[self.name]
        return {**arrays, self.name: (right * right.dtype.type(1 + self.relative))}


def _changeable(arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    """Return the results with floating-point numbers of which not all are 0."""
    return [name for name, array in arrays.items() if array.dtype.kind == "f" and np.any(array)]


@dataclass(frozen=True)
class Mutation:
    """One mutant of a file of the reference, to be graded on the parts that ask for the file."""

    assignment: str
    file: str
    parts: tuple[str, ...]
    mutant: Mutant
    occurrence: int
    """From 0: tells apart the same change in several places."""

    def row(self, verdict: Verdict, killed_by: str) -> Row:
        """Return what became of it, for the kill matrix."""
        return Row(
            assignment=self.assignment,
            file=f"{self.assignment}/{self.file}",
            line=self.mutant.line,
            operator=self.mutant.operator,
            before=self.mutant.before,
            after=self.mutant.after,
            occurrence=self.occurrence,
            verdict=verdict.value,
            killed_by=killed_by,
        )


def mutations(assignment: Assignment) -> Iterator[Mutation]:
    """Yield every mutant of every file that a part asks for."""
    for file in assignment.handed_in:
        path = assignment.reference / file
        parts = tuple(part.name for part in assignment.parts if file in part.files)
        seen: Counter[tuple[object, ...]] = Counter()
        for each in mutants(path.read_text(), str(path)):
            change = (each.operator, each.before, each.after)
            yield Mutation(assignment.name, file, parts, each, seen[change])
            seen[change] += 1


def graded(grader: Grader, mutation: Mutation) -> Row:
    """Grade one mutant up to the first test that it fails; return what became of it."""
    reference = grader.assignment.reference
    with TemporaryDirectory() as folder:
        for file in reference.rglob("*.py"):
            copy = Path(folder, file.relative_to(reference))
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
        Path(folder, mutation.file).write_text(mutation.mutant.source)
        selection = Selection(fail_fast=True)
        report = grader.grade(Path(folder), *mutation.parts, selection=selection)
    return mutation.row(*_first_failure(report))


def _first_failure(report: Report) -> tuple[Verdict, str]:
    """Return the first verdict that costs something, and whose it is."""
    for part in report.parts:
        if part.points == part.max_points and part.max_points > 0:
            continue
        for test in part.tests:
            if test.verdict not in (Verdict.ACCEPTED, Verdict.SKIPPED):
                return test.verdict, f"{part.name}: {test.name}"
        if not part.tests:
            return part.verdict, f"{part.name}: {part.message}"
    return Verdict.ACCEPTED, ""
