"""Grades small mistakes in a correct solution: one that no test finds is a hole in a suite.

A near miss is a result that is slightly wrong. A mutant is a file of the reference with one change.
Only marked solutions are changed, since students get the rest. The operators are the classical ones
of mutation testing (DeMillo, Lipton, Sayward 1978) and those for distributed code: a missing wait,
another tag, another source, another dtype, two statements swapped.
"""

import ast
import shutil
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.addons.authoring.template import solution_lines
from grader.course.assignment import Assignment
from grader.course.course import Course
from grader.course.courses import Courses
from grader.grading import pipeline
from grader.grading.settings import Settings
from grader.grading_plugin.marks import Selection
from grader.judge.explanation.launch_result import explaining
from grader.model.errors import GraderError
from grader.model.report import Report, Verdict
from grader.recording.launch_plan import LaunchPlan
from grader.recording.observation import CaseObservation, LaunchObservation, Observer

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "+",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.And: "or",
    ast.Or: "and",
}
_DTYPES = {"float64": "float32", "float32": "float64", "int64": "int32", "double": "single"}
_NAMES = {"True": "False", "False": "True"}
_PEERS = ("source", "dest", "src", "dst", "root")
_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.Delete)


@dataclass(frozen=True)
class Mutant:
    """A source with one change in it."""

    line: int
    """Of the reference, from 1."""
    operator: str
    """What kind of change it is, such as `statement removed`."""
    before: str
    after: str
    source: str
    """The whole file."""


@dataclass(frozen=True)
class _Edit:
    """Characters of the source that are replaced: from `begin` up to `end`."""

    begin: int
    end: int
    text: str
    operator: str
    line: int


def mutants(source: str, file: str) -> list[Mutant]:
    """Return every mutant of a Python source that can be compiled, each once.

    file: its name in messages. Raises GraderError for a source that is wrongly marked.
    """
    lines = solution_lines(source, file)
    found: dict[str, Mutant] = {}
    for edit in _Edits(source).of(ast.parse(source)):
        if edit.line not in lines:
            continue
        changed = source[: edit.begin] + edit.text + source[edit.end :]
        try:
            compile(changed, file, "exec")
        except SyntaxError:  # such as a `return` that moved out of its function
            continue
        before = " ".join(source[edit.begin : edit.end].split())
        after = " ".join(edit.text.split())
        found.setdefault(changed, Mutant(edit.line, edit.operator, before, after, changed))
    found.pop(source, None)
    return list(found.values())


class _Edits:
    def __init__(self, source: str) -> None:
        self._source = source
        self._starts = [0]
        for line in source.encode().split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._bytes = source.encode()

    def of(self, tree: ast.AST) -> Iterator[_Edit]:
        """Yield the edits of all nodes."""
        for node in ast.walk(tree):
            yield from self._of_operators(node)
            yield from self._of_leaves(node)
            yield from self._of_calls(node)
            for name in ("body", "orelse"):
                body = getattr(node, name, None)
                if isinstance(body, list):
                    yield from self._of_body(body)

    def _of_operators(self, node: ast.AST) -> Iterator[_Edit]:
        if isinstance(node, ast.BinOp):
            yield from self._between(node.left, node.right, node.op)
        elif isinstance(node, ast.AugAssign):
            yield from self._between(node.target, node.value, node.op)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield from self._between(node.left, node.comparators[0], node.ops[0])
        elif isinstance(node, ast.BoolOp):
            yield from self._between(node.values[0], node.values[1], node.op)
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            yield self._edit(node.test, f"not ({self._text(node.test)})", "condition negated")

    def _between(self, left: ast.expr, right: ast.expr, operator: ast.AST) -> Iterator[_Edit]:
        """Yield the edit of an operator, which has no position of its own."""
        new = _OPERATORS.get(type(operator))
        begin, end = self._span(left)[1], self._span(right)[0]
        between = self._source[begin:end]
        old = between.strip(" ()\n=") if new else ""
        if new and between.count(old) == 1:
            begin += between.index(old)
            line = left.end_lineno or left.lineno
            yield _Edit(begin, begin + len(old), new, "operator", line)

    def _of_leaves(self, node: ast.AST) -> Iterator[_Edit]:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            for value in (node.value + 1, node.value - 1):
                yield self._edit(node, f"({value})" if value < 0 else str(value), "bound")
        elif isinstance(node, ast.Constant) and str(node.value) in _NAMES:
            yield self._edit(node, _NAMES[str(node.value)], "constant")
        elif isinstance(node, ast.Attribute) and node.attr in _DTYPES:
            yield self._edit(node, f"{self._text(node.value)}.{_DTYPES[node.attr]}", "dtype")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
            yield self._edit(node, self._text(node.operand), "operator")

    def _of_calls(self, node: ast.AST) -> Iterator[_Edit]:
        if not isinstance(node, ast.Call):
            return
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        for keyword in node.keywords:
            value = keyword.value
            if keyword.arg == "tag":
                yield self._edit(value, f"({self._text(value)}) + 1", "tag")
            elif keyword.arg in _PEERS:
                yield self._edit(value, "0", "peer")
        for left, right in pairwise(node.args):
            swapped = f"{self._text(right)}, {self._text(left)}"
            begin, end = self._span(left)[0], self._span(right)[1]
            yield _Edit(begin, end, swapped, "arguments swapped", left.lineno)
        if len(arguments) == 1 and node.args and isinstance(node.func, ast.Name | ast.Attribute):
            yield self._edit(node, self._text(node.args[0]), "call removed")

    def _of_body(self, body: list[ast.stmt]) -> Iterator[_Edit]:
        simple = [node for node in body if isinstance(node, _SIMPLE)]
        for statement in simple:
            if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                yield self._edit(statement, "pass", "statement removed")
        for node in body:
            if isinstance(node, ast.For | ast.While | ast.If | ast.With):
                yield self._edit(node, "pass", "block removed")
            if isinstance(node, ast.Return) and node.value is not None:
                yield self._edit(node, "return None", "nothing returned")
        for first, second in pairwise(body):
            if isinstance(first, _SIMPLE) and isinstance(second, _SIMPLE):
                begin, middle = self._span(first)
                after, end = self._span(second)
                swapped = self._text(second) + self._source[middle:after] + self._text(first)
                yield _Edit(begin, end, swapped, "statements swapped", first.lineno)

    def _edit(self, node: ast.expr | ast.stmt, text: str, operator: str) -> _Edit:
        begin, end = self._span(node)
        return _Edit(begin, end, text, operator, node.lineno)

    def _text(self, node: ast.expr | ast.stmt) -> str:
        begin, end = self._span(node)
        return self._source[begin:end]

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return where a node begins and ends, in characters: the tree counts bytes."""
        begin = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        return len(self._bytes[:begin].decode()), len(self._bytes[:end].decode())


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
        # Labels must also hold for people who do not have the hidden tests.
        grades_hidden=False,
    )
    return Grader(course, assignment, settings, observe, progress)


@dataclass(frozen=True, order=True)
class Row:
    """One mutant of one reference file, and its result."""

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
    """Of the first test that fails; ACCEPTED for a mutant that no test finds."""
    killed_by: str = ""
    """That test, behind its part: `ring_allreduce: test_any_length`; empty for a survivor."""

    @property
    def key(self) -> str:
        """Return a name for the mutant that stays the same when its line moves."""
        return f"{self.file}: {self.operator}: {self.before} => {self.after} ({self.occurrence})"


def reasons(file: Path) -> Mapping[str, str]:
    """Return why survivors are correct, by their keys, from a TOML table that may be missing.

    Raises GraderError for a file that is not TOML.
    """
    try:
        return {key: str(why) for key, why in tomllib.loads(file.read_text()).items()}
    except FileNotFoundError:
        return {}
    except tomllib.TOMLDecodeError as error:
        raise GraderError(f"{file} cannot be read: {error}") from None


def unexplained(rows: Iterable[Row], reasons_by_key: Mapping[str, str]) -> list[Row]:
    """Return the survivors for which nobody has said why they are equivalent."""
    return [row for row in rows if not row.killed_by and not reasons_by_key.get(row.key)]


def changeable_names(observations: Iterable[LaunchObservation]) -> list[str]:
    """Return the results that held floating-point numbers, on any rank of any case."""
    ranks = (rank for observed in observations for case in observed.cases for rank in case.ranks)
    return sorted({name for rank in ranks for name in _changeable(rank.arrays)})


@dataclass(frozen=True)
class NearMiss:
    """An observer that makes one result too large; everything else stays as it was."""

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
    """Grade one mutant up to the first test that it fails; return it with the result."""
    mutated = row.file.removeprefix(f"{row.assignment}/")
    parts = (part.name for part in grader.assignment.parts if mutated in part.files)
    with TemporaryDirectory() as folder:
        # Without the files' modes: a reference may be read-only, but its copy is changed.
        reference = grader.assignment.reference
        shutil.copytree(reference, folder, copy_function=shutil.copyfile, dirs_exist_ok=True)
        Path(folder, mutated).write_text(source)
        report = grader.grade(Path(folder), *parts, selection=Selection(fail_fast=True))
    verdict, killed_by = _first_failure(report)
    return replace(row, verdict=verdict.value, killed_by=killed_by)


def _first_failure(report: Report) -> tuple[Verdict, str]:
    """Return the first verdict that costs points, and its part and test."""
    for part in report.parts:
        if part.points == part.max_points and part.max_points > 0:
            continue
        for test in part.tests:
            if test.verdict not in (Verdict.ACCEPTED, Verdict.SKIPPED):
                return test.verdict, f"{part.name}: {test.name}"
        if not part.tests:
            return part.verdict, f"{part.name}: {part.message}"
    return Verdict.ACCEPTED, ""
