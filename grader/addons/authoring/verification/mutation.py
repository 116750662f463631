"""Every small mistake in a reference, graded: what no test finds is a hole in a suite."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from grader.addons.authoring.kill_matrix import Row
from grader.addons.authoring.mutants import Mutant, mutants
from grader.addons.authoring.verification.grading import Grader
from grader.course.assignment import Assignment
from grader.grading_plugin.marks import Selection
from grader.model.report import Report, Verdict


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
