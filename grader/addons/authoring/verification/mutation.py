"""Small mistakes in a right solution, graded: what no test finds is a hole in a suite.

A mutant is a file of the reference with one change; a near miss is a result that is slightly wrong.
"""

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.addons.authoring.mutants import mutants
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
    verdict: str = ""
    """Of the first test that does not hold; ACCEPTED for one that nobody finds."""
    killed_by: str = ""
    """That test, behind its part: `ring_allreduce: test_any_length`; empty for a survivor."""

    @property
    def key(self) -> str:
        """Return what names the mutant wherever its line has moved to."""
        return f"{self.file}: {self.operator}: {self.before} => {self.after} ({self.occurrence})"


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


def mutations(assignment: Assignment) -> Iterator[tuple[Row, str]]:
    """Yield every mutant of every file that a part asks for, with the whole file."""
    for file in assignment.handed_in:
        path = assignment.reference / file
        seen: Counter[tuple[str, str, str]] = Counter()
        for each in mutants(path.read_text(), str(path)):
            change = (each.operator, each.before, each.after)
            where = f"{assignment.name}/{file}"
            yield Row(assignment.name, where, each.line, *change, seen[change]), each.source
            seen[change] += 1


def graded(grader: Grader, row: Row, source: str) -> Row:
    """Grade one mutant up to the first test that it fails; return what became of it."""
    reference = grader.assignment.reference
    mutated = row.file.removeprefix(f"{row.assignment}/")
    parts = (part.name for part in grader.assignment.parts if mutated in part.files)
    with TemporaryDirectory() as folder:
        for file in reference.rglob("*.py"):
            copy = Path(folder, file.relative_to(reference))
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
        Path(folder, mutated).write_text(source)
        report = grader.grade(Path(folder), *parts, selection=Selection(fail_fast=True))
    verdict, killed_by = _first_failure(report)
    return replace(row, verdict=verdict.value, killed_by=killed_by)


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
