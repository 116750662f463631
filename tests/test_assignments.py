"""Every assignment of the catalogue: full marks, no marks, and no number that nobody looks at."""

from dataclasses import replace
from pathlib import Path

import pytest

from grader.addons.authoring.verification.mutation import grader_of
from grader.addons.authoring.verification.verify import check_near_misses
from grader.course.courses import bundled
from grader.grading import pipeline
from grader.grading.settings import Settings
from grader.model.report import Verdict

ROOT = Path(__file__).resolve().parents[1]
ASSIGNMENTS = sorted(file.parent.name for file in ROOT.glob("tests/suites/*/assignment.toml"))


def account(report) -> str:
    return "\n".join(
        f"{part.name} {part.verdict.value} {part.points:g}/{part.max_points:g} {part.message}"
        for part in report.parts
    )


def graded(folder, ranks):
    """Return the report of a folder whose assignment is found out from its files."""
    return pipeline.grade(folder, settings=Settings(launch=ranks.launcher(folder.name)))


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_reference_gets_full_marks(assignment, ranks):
    """The model solution is a submission like any other, recognised by its files."""
    report = graded(ROOT / "reference" / assignment, ranks)
    assert report.assignment == assignment
    assert {part.verdict for part in report.parts} == {Verdict.ACCEPTED}, account(report)
    assert report.score == report.max_score > 0, account(report)


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_template_gets_nothing(assignment, ranks):
    """What a student starts from is not attempted in any scored part."""
    report = graded(ROOT / "student_template" / assignment, ranks)
    assert report.assignment == assignment
    assert report.score == 0, account(report)
    scored = [part for part in report.parts if part.max_points > 0]
    assert {part.verdict for part in scored} == {Verdict.NOT_ATTEMPTED}, account(report)


@pytest.mark.parametrize(
    ("assignment", "part"),
    [(each.name, part.name) for each in bundled().assignments() for part in each.parts],
)
def test_no_test_takes_a_near_miss_for_right(assignment, part, ranks):
    """Of each number that a reference returns, a test notices that it is slightly too large."""
    course = bundled()
    found = course.load(assignment)
    found = replace(found, parts=tuple(each for each in found.parts if each.name == part))
    grader = grader_of(course, found, ranks.observer(assignment))
    assert not list(check_near_misses(grader))
