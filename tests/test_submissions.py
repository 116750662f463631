"""Every labelled submission gets the verdict of its folder, and for the reason its label gives."""

import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from grader.addons.authoring.verification.labels import disagreements, read_label
from grader.course.courses import bundled
from grader.grading import pipeline
from grader.grading.settings import Settings
from grader.model.report import PartResult, Verdict
from grader.report import terminal
from grader.report.causes import is_missing
from grader.report.feedback import for_student

SUBMISSIONS = Path(__file__).parent / "submissions"
FOLDERS = sorted(folder for folder in SUBMISSIONS.glob("*/*/*") if folder.is_dir())

HERE = SUBMISSIONS.parent
LIVE = tomllib.loads((HERE / "live.toml").read_text())["submissions"]
LEFT_OUT = tomllib.loads((HERE / "acceptance_only.toml").read_text())["submissions"]


def name(folder: Path) -> str:
    """Return `<verdict>/<assignment>/<the_bug>`."""
    return folder.relative_to(SUBMISSIONS).as_posix()


def account(result: PartResult) -> str:
    """Return what the grading found, for the reader of a failed test."""
    lines = [f"{result.name}: {result.verdict.value}, {result.points:g}/{result.max_points:g}"]
    lines += [f"  {text}" for text in (result.message, *map(str, result.notes))]
    for test in result.tests:
        if test.verdict is not Verdict.ACCEPTED:
            lines += [f"  {test.verdict.value} {test.name} [{test.where}]: {test.message}"]
            lines += [f"    {line}" for line in test.detail.splitlines()]
    return "\n".join(lines)


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_label_is_complete_and_agrees_with_its_folder(folder):
    """A submission without a right label would be graded for nothing."""
    read_label(folder)


def marked(folder: Path) -> Any:
    """Return the parameter of a submission; `make test` runs no slow tests."""
    marks = [pytest.mark.slow] if name(folder) in LEFT_OUT else []
    return pytest.param(folder, id=name(folder), marks=marks)


def test_what_is_left_out_is_there():
    """And few."""
    assert {*LEFT_OUT} <= {*map(name, FOLDERS)}
    assert len(LEFT_OUT) <= 10


@pytest.mark.parametrize("folder", [*map(marked, FOLDERS)])
def test_submission_gets_its_verdict_for_the_right_reason(folder, ranks, record_property):
    """Grades the part that the submission was written for, through the whole straight line.

    What it was paid goes into the JUnit report, of which benchmarks/fairness.py makes a page.
    """
    result = graded(folder, ranks.launcher(folder.parent.name))
    record_property("submission", name(folder))
    record_property("points", result.points)
    record_property("max_points", result.max_points)


@pytest.mark.parametrize("label", LIVE)
def test_a_submission_of_each_part_gets_its_verdict_live(label, ranks):
    """Its ranks are started though they have been before: what they do may have changed."""
    graded(SUBMISSIONS / label, ranks.launcher(label.split("/")[1], is_live=True))


def test_every_part_has_a_submission_that_is_graded_live():
    """And no more than two, which have to be quick."""
    parts = Counter((label.split("/")[1], read_label(SUBMISSIONS / label).part) for label in LIVE)
    expected = {(each.name, part.name) for each in bundled().assignments() for part in each.parts}
    assert parts.keys() == expected
    assert max(parts.values()) <= 2


def graded(folder, launch):
    """Return what became of the part of a submission, after its label was compared with it."""
    label = read_label(folder)
    report = pipeline.grade(
        folder,
        assignment=folder.parent.name,
        parts=[label.part],
        settings=Settings(launch=launch),
    )
    (result,) = report.parts
    assert not list(disagreements(label, result)), account(result)
    assert_page_adds_up(for_student(report))
    return result


HEADING = re.compile(r"\S \S+  .+  (?:costs )?([\d.]+) of [\d.]+ points?(?: on hold: .*)?$")
"""The first line of a cause, with its price."""
CHECK = re.compile(r" +([\d.]+) of ([\d.]+)  ")
REST = re.compile(
    r"  (?:and \d+ more checks?|\d+ checks? could not run.*) \(([\d.]+) points?\)\.?$"
)


def assert_page_adds_up(report):
    """Assert that the costliest cause is first, and that prices and lines add up to the loss."""
    (part,) = report.parts
    shown = []
    for line in terminal.render(report, colour=False, width=1000, plain=True).splitlines():
        if found := HEADING.match(line):
            shown.append((float(found[1]), []))
        elif shown and (found := CHECK.match(line)):
            shown[-1][1].append(float(found[2]) - float(found[1]))
        elif shown and (found := REST.match(line)):
            shown[-1][1].append(float(found[1]))
    prices = [price for price, _ in shown]
    assert prices == sorted(prices, reverse=True)
    lost = part.max_points - part.points
    assert sum(prices) == pytest.approx(0 if is_missing(part) else lost)
    for price, lines in shown:
        # One cause that leaves nothing is told without its checks.
        if lines or len(shown) > 1:
            assert sum(lines) == pytest.approx(price)
