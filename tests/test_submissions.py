"""Every labelled submission gets the verdict of its folder, and for the reason its label gives."""

import re
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest

from grader import assignment as assignments
from grader import pipeline
from grader.home import SUITES
from grader.model import PartResult, Verdict
from grader.runner.fork_server import ForkServer
from grader.runner.launch import launch
from grader.settings import Settings

SUBMISSIONS = Path(__file__).parent / "submissions"
FOLDERS = sorted(folder for folder in SUBMISSIONS.glob("*/*/*") if folder.is_dir())

MOST_UNFAIR = 0.15
"""By how much of a part what we pay may differ from what a fair person pays."""


class Label(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `expected.toml` says of the submission it lies in."""

    about: str
    part: str
    verdict: Verdict
    message: str = ""
    points: Literal["all", "some"] | float | None = None
    """`all`, `some` or a number; may be left out where there is a fair share."""
    subject: tuple[str, ...] | None = None
    """The tests about this bug: no other may lose points. None when the label does not say."""
    fair_share: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    """What a fair person who has read the handout pays for it, as a share of the part's points."""
    deterministic: bool = False
    """The failure is the same each time, also on a busy machine: `make acceptance` repeats it."""
    slow: bool = False
    """Takes long to grade, so `make acceptance` does it, and `make test` leaves it out."""
    failing_tests: tuple[str, ...] | None = None
    """The only tests that may fail; None when the label does not say."""

    @classmethod
    def of(cls, folder: Path) -> "Label":
        """Read the label of a submission; raises ValueError where it is not right."""
        return msgspec.toml.decode((folder / "expected.toml").read_bytes(), type=cls)


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


def pays(rule: str | float | None, result: PartResult) -> bool:
    """Return whether the points of a part are as the label says: all, some, or a number."""
    if rule is None:
        return True
    if rule == "all":
        return result.points == result.max_points
    if rule == "some":
        return 0 < result.points < result.max_points
    return result.points == rule


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_label_is_complete_and_agrees_with_its_folder(folder):
    """A submission without a right label would be graded for nothing."""
    label = Label.of(folder)

    assert label.verdict.value == folder.parent.parent.name.upper()
    assert label.points is not None or label.fair_share is not None, "a label says what it costs"
    assert label.message or label.verdict is Verdict.ACCEPTED, "a failure has a reason"
    re.compile(label.message)


@pytest.fixture(scope="module")
def launcher_for():
    """Return what puts plans to ranks, by assignment: those with equal needs share a server."""
    with ExitStack() as stack:

        @cache
        def server_with(modules: tuple[str, ...]) -> ForkServer:
            return stack.enter_context(ForkServer(modules))

        yield lambda assignment: partial(
            launch, server=server_with(assignments.load(assignment, SUITES).needs)
        )


@pytest.mark.parametrize("folder", [marked(folder) for folder in FOLDERS])
def test_submission_gets_its_verdict_for_the_right_reason(folder, launcher_for, record_property):
    """Grades the part that the submission was written for, through the whole straight line.

    What it was paid goes into the JUnit report, of which benchmarks/fairness.py makes a page.
    """
    label = Label.of(folder)
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
    failing = [t for t in result.tests if t.verdict not in (Verdict.ACCEPTED, Verdict.SKIPPED)]
    messages = [result.message, *result.notes, *(test.message for test in failing)]
    assert result.verdict is label.verdict, account(result)
    assert any(re.search(label.message, message) for message in messages), account(result)
    assert pays(label.points, result), account(result)
    if label.subject is not None:
        lost = {test.name for test in result.tests if test.points < test.max_points}
        assert lost <= set(label.subject), f"loses {lost - set(label.subject)}\n{account(result)}"
    if label.fair_share is not None and result.max_points:
        share = result.points / result.max_points
        assert round(abs(share - label.fair_share), 9) <= MOST_UNFAIR, account(result)
    if label.failing_tests is not None:
        assert {test.name for test in failing} == set(label.failing_tests), account(result)
