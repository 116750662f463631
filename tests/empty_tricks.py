"""Grades programs that answer without a part's algorithm: nothing is paid for nothing."""

from pathlib import Path

from recorded import Ranks

from grader.grading import pipeline
from grader.grading.settings import Settings
from grader.model.report import PartResult


def graded(ranks: Ranks, folder: Path, assignment: str, part: str) -> PartResult:
    """Return what one part of a submission comes to."""
    settings = Settings(launch=ranks.launcher(assignment))
    report = pipeline.grade(folder, assignment=assignment, parts=[part], settings=settings)
    (result,) = report.parts
    return result


def assert_earns_at_most(share: float, result: PartResult) -> None:
    """Assert that a part earns this share of its points at most; name the tests that pay."""
    paid = [f"{test.name} {test.points:g}" for test in result.tests if test.points]
    assert result.max_points > 0
    assert result.points <= share * result.max_points, f"{paid}: {result.message}"
