"""Finds what a suite uses of grader.api that goes away."""

import ast
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from grader.addons.authoring.verification.problem import Problem
from grader.api import DEPRECATED
from grader.course.assignment import Assignment
from grader.course.course import Course


def check_deprecated_names(course: Course, assignment: Assignment) -> Iterator[Problem]:
    """Check that no suite imports a name of grader.api that goes away."""
    for file in sorted(assignment.folder.rglob("*.py")):
        for line, name in _imported(file):
            if name in DEPRECATED:
                instead, version = DEPRECATED[name]
                yield Problem(
                    f"{file.relative_to(assignment.folder)}:{line}",
                    f"{name} will be removed in version {version} of grader.api; use {instead}",
                )


def _imported(file: Path) -> Iterator[tuple[int, str]]:
    """Yield line and name of what a file imports from grader.api; none where it is no Python."""
    with suppress(SyntaxError, ValueError, OSError):  # which another check is about
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module == "grader.api":
                yield from ((node.lineno, alias.name) for alias in node.names)
