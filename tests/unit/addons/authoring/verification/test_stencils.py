"""The checks for stencils and solvers find what they are for: shown by a course of its own."""

import ast
from pathlib import Path

from grader.addons.authoring.verification.labels import labelled, read_label
from grader.addons.authoring.verification.verify import verify
from grader.course.course import Course

ROOT = Path(__file__).parents[4] / "stencils"


def test_each_submission_gets_its_verdict_for_its_reason(ranks):
    """Each mistake by the finding of the check that is for it; other styles all points."""
    checks = list(
        verify(
            Course.read(ROOT),
            "heat",
            is_quick=False,
            with_mutants=False,
            progress=lambda text: None,
            observe=ranks.observer_with(()),
        )
    )
    assert [problem for each in checks for problem in each.problems] == []
    assert "labelled submissions" in {each.check for each in checks}


def test_what_is_shown_of_each_check():
    """A mistake that it alone finds, or its own finding about one."""
    course = Course.read(ROOT)
    labels = [read_label(folder) for folder in labelled(course.submissions, "heat")]
    assert {label.cause for label in labels} >= {
        "rule.not_a_neighbour",
        "rule.neighbour_left_out",
        "rule.bytes_per_edge",
        "rule.calls_per_iteration",
        "rule.collective_size",
    }
    accepted = [label for label in labels if label.verdict == "ACCEPTED"]
    assert {label.part for label in accepted} == {"halo", "cg"}


def test_its_suites_import_of_grader_nothing_but_its_api():
    modules = {
        name
        for file in (ROOT / "tests/suites").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        for name in (
            [node.module]
            if isinstance(node, ast.ImportFrom)
            else [each.name for each in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }
    assert {name for name in modules if name.split(".")[0] == "grader"} == {"grader.api"}
