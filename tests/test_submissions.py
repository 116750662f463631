"""Every labelled submission gets the verdict of its folder, and for the reason its label gives."""

from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from grader import observing, pipeline
from grader.courses import bundled
from grader.model import PartResult, Verdict
from grader.runner.fork_server import ForkServer
from grader.settings import Settings
from grader.verification.labels import disagreements, read_label

SUBMISSIONS = Path(__file__).parent / "submissions"
FOLDERS = sorted(folder for folder in SUBMISSIONS.glob("*/*/*") if folder.is_dir())


def name(folder: Path) -> str:
    """Return `<verdict>/<assignment>/<the_bug>`."""
    return folder.relative_to(SUBMISSIONS).as_posix()


def marked(folder: Path) -> Any:
    """Return the parameter of a submission; a label that cannot be read fails its own test."""
    is_slow = "\nslow = true" in (folder / "expected.toml").read_text()
    return pytest.param(folder, id=name(folder), marks=[pytest.mark.slow] if is_slow else [])


def account(result: PartResult) -> str:
    """Return what the grading found, for the reader of a failed test."""
    lines = [f"{result.name}: {result.verdict.value}, {result.points:g}/{result.max_points:g}"]
    lines += [f"  {text}" for text in (result.message, *result.notes)]
    for test in result.tests:
        if test.verdict is not Verdict.ACCEPTED:
            lines += [f"  {test.verdict.value} {test.name} [{test.where}]: {test.message}"]
            lines += [f"    {line}" for line in test.detail.splitlines()]
    return "\n".join(lines)


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_label_is_complete_and_agrees_with_its_folder(folder):
    """A submission without a right label would be graded for nothing."""
    read_label(folder)


@pytest.fixture(scope="module")
def launcher_for():
    """Return what puts plans to ranks, by assignment: those with equal needs share a server."""
    with ExitStack() as stack:

        @cache
        def server_with(modules: tuple[str, ...]) -> ForkServer:
            return stack.enter_context(ForkServer(modules))

        yield lambda assignment: observing.launcher(server_with(bundled().load(assignment).needs))


@pytest.mark.parametrize("folder", [marked(folder) for folder in FOLDERS])
def test_submission_gets_its_verdict_for_the_right_reason(folder, launcher_for, record_property):
    """Grades the part that the submission was written for, through the whole straight line.

    What it was paid goes into the JUnit report, of which benchmarks/fairness.py makes a page.
    """
    label = read_label(folder)
    assignment = folder.parent.name

    report = pipeline.grade(
        folder,
        assignment=assignment,
        parts=[label.part],
        settings=Settings(launch=launcher_for(assignment)),
    )

    (result,) = report.parts
    record_property("submission", name(folder))
    record_property("points", result.points)
    record_property("max_points", result.max_points)
    assert not list(disagreements(label, result)), account(result)
