"""The page of verdicts quotes what the grader really says."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from grader.addons.authoring.verification.labels import read_label
from grader.course.courses import bundled
from grader.grading import pipeline
from grader.grading.settings import Settings
from grader.intake import process as intake
from grader.judge.explanation.launch_result import LaunchResult
from grader.model.report import RunFailure, Verdict

ROOT = Path(__file__).resolve().parents[1]
SUBMISSIONS = ROOT / "tests" / "submissions"
PAGE = (ROOT / "docs" / "verdicts.md").read_text()
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
EXAMPLE = re.compile(r"Example: `([^`]+)`,\s+part\s+`(\w+)`")
EXAMPLES = {verdict: EXAMPLE.search(text) for verdict, text in SECTIONS.items()}
QUICK = ("SKIPPED", "OUTPUT_LIMIT_EXCEEDED", "RUN_TIME_ERROR", "DEADLOCK", "NOT_ATTEMPTED")
VARIES = re.compile(r"(?<=used )[0-9]+(?= MiB)|; the machine was busy, .*")
"""How much memory is in use when the supervisor sees it, and what a busy machine adds."""


def quoted(section: str) -> str:
    """Return the sentence that a section quotes; empty where it quotes none."""
    found = re.findall(r"^> (.*)$", section, re.MULTILINE)
    assert len(found) <= 1
    return found[0] if found else ""


def fixed(message: str) -> str:
    """Return a message without what varies."""
    return VARIES.sub("", message)


def test_every_verdict_but_that_of_the_grader_has_an_example():
    assert [verdict for verdict, found in EXAMPLES.items() if not found] == ["JUDGE_ERROR"]


def test_every_verdict_has_its_section_the_least_severe_first():
    assert list(SECTIONS) == [v.value for v in sorted(Verdict, key=lambda each: each.severity)]


@pytest.mark.parametrize("verdict", [v for v, found in EXAMPLES.items() if found])
def test_an_example_is_a_labelled_submission(verdict):
    """Of that part and that verdict."""
    path, part = EXAMPLES[verdict].groups()
    label = read_label(SUBMISSIONS / path)
    assert label.part == part
    if verdict != "SKIPPED":  # no submission is filed under it
        assert label.verdict == verdict


@pytest.fixture(scope="module")
def graded(ranks):
    """Return what grades a part of a submission of mpi_sgd; each is graded once."""
    results = {}
    settings = Settings(launch=ranks.launcher("mpi_sgd"), grades_hidden=False)

    def grade(path, part):
        if path not in results:
            report = pipeline.grade(
                SUBMISSIONS / path, assignment="mpi_sgd", parts=[part], settings=settings
            )
            results[path] = report.parts[0]
        return results[path]

    return grade


@pytest.mark.parametrize(
    "verdict",
    [
        pytest.param(verdict, marks=[] if verdict in QUICK else [pytest.mark.slow])
        for verdict, found in EXAMPLES.items()
        if found
    ],
)
def test_a_quoted_sentence_is_what_the_grader_says(verdict, graded):
    """The message of the part, or for SKIPPED of its later tests."""
    result = graded(*EXAMPLES[verdict].groups())
    said = fixed(quoted(SECTIONS[verdict]))
    if verdict == "SKIPPED":
        messages = {t.message for t in result.tests if t.verdict is Verdict.SKIPPED}
        assert said in messages
        return
    assert result.verdict.value == verdict
    assert fixed(result.message) == said


def test_points_that_do_not_agree_are_the_graders_failure():
    """No submission leads to JUDGE_ERROR, so the quoted one is made: a part of another price."""
    assignment = bundled().load("mpi_sgd")
    parts = tuple(
        structs.replace(part, points=26) if part.name == "ring_allreduce" else part
        for part in assignment.parts
    )
    failure = RunFailure(Verdict.NOT_ATTEMPTED, "not attempted", is_lasting=True)
    folder = SUBMISSIONS / "accepted" / "mpi_sgd" / "ring_going_left"
    settings = Settings(
        parts=["ring_allreduce"],
        grades_hidden=False,
        launch=lambda plan: LaunchResult((), failure),
    )
    report = pipeline.grade_submission(
        intake.read(folder, assignment.handed_in), replace(assignment, parts=parts), settings
    )
    assert report.parts[0].verdict is Verdict.JUDGE_ERROR
    assert report.parts[0].message == quoted(SECTIONS["JUDGE_ERROR"])
    assert report.exit_code == 3
