"""Every assignment of the catalogue, graded locally: full marks and no marks."""

from pathlib import Path

import pytest

from grader import pipeline
from grader.model import Verdict

ROOT = Path(__file__).resolve().parents[1]
ASSIGNMENTS = sorted(file.parent.name for file in ROOT.glob("tests/suites/*/assignment.toml"))


def account(report) -> str:
    return "\n".join(
        f"{part.name} {part.verdict.value} {part.points:g}/{part.max_points:g} {part.message}"
        for part in report.parts
    )


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_reference_gets_full_marks(assignment):
    """The model solution is a submission like any other, recognised by its files."""
    report = pipeline.grade(ROOT / "reference" / assignment)
    assert report.assignment == assignment
    assert {part.verdict for part in report.parts} == {Verdict.ACCEPTED}, account(report)
    assert report.score == report.max_score > 0, account(report)


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_template_gets_nothing(assignment):
    """What a student starts from is not attempted in any scored part."""
    report = pipeline.grade(ROOT / "student_template" / assignment)
    assert report.assignment == assignment
    assert report.score == 0, account(report)
    scored = [part for part in report.parts if part.max_points > 0]
    assert {part.verdict for part in scored} == {Verdict.NOT_ATTEMPTED}, account(report)
