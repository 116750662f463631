"""Finds the study of an assignment: `study/` beside its suites."""

import importlib
import sys
from collections.abc import Sequence
from typing import Protocol, cast

from grader.course.assignment import Assignment
from grader.model.errors import GraderError, UsageError
from grader.study.figures import Figure
from grader.study.plan import Extent, Point, problems
from grader.study.results import Results


class Study(Protocol):
    """What `study/__init__.py` of an assignment has. All three compute, and do nothing else."""

    def points(self, extent: Extent) -> Sequence[Point]:
        """Return what is to be measured, the most important first."""

    def figures(self, results: Results) -> Sequence[Figure]:
        """Return the charts and tables of what was measured; where runs failed, without them."""

    def findings(self, results: Results) -> Sequence[str]:
        """Return sentences on what the figures show, with the numbers."""


def load(assignment: Assignment) -> Study:
    """Import the study of an assignment.

    Raises UsageError where it has none, GraderError for one that cannot be imported.
    """
    if not (assignment.folder / "study" / "__init__.py").is_file():
        raise UsageError(
            f"{assignment.name} has no study: there is no {assignment.folder / 'study'}"
        )
    folder = str(assignment.folder.parent)
    sys.path.insert(0, folder)
    try:
        module = importlib.import_module(f"{assignment.folder.name}.study")
    except Exception as error:
        raise GraderError(
            f"the study of {assignment.name} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    finally:
        sys.path.remove(folder)
    missing = [name for name in ("points", "figures", "findings") if not hasattr(module, name)]
    if missing:
        raise GraderError(f"the study of {assignment.name} has no {' and no '.join(missing)}")
    return cast(Study, module)


def points_of(study: Study, extent: Extent) -> list[Point]:
    """Return the points of a study. Raises GraderError for mistakes in them."""
    found = list(study.points(extent))
    mistakes = problems(found)
    if mistakes:
        raise GraderError(*mistakes)
    return found
