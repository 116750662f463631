"""What has changed since an earlier report: tests that hold now, and tests that broke."""

from dataclasses import dataclass

from grader.model.points import total, written
from grader.model.report import Report, TestResult, Verdict
from grader.report.page import BOLD, INDENT, Page
from grader.report.safe_text import one_line


@dataclass(frozen=True)
class Change:
    """A test whose verdict is another one now."""

    part: str
    test: TestResult
    """As it is now."""
    before: Verdict


@dataclass(frozen=True)
class Comparison:
    """Two reports, as far as both are about the same tests."""

    points_before: float
    points_now: float
    max_points: float
    """Of the tests that both have, as they are now."""
    better: tuple[Change, ...]
    """Tests that hold now."""
    broken: tuple[Change, ...]
    """Tests that held before."""
    other: tuple[Change, ...]
    """Tests that do not hold for another reason."""


def compare(before: Report, now: Report) -> Comparison:
    """Return what has changed in the tests that both reports have. Raises ValueError for none."""
    earlier = {(part.name, test.name): test for part in before.parts for test in part.tests}
    both = [
        (part, test, earlier[part.name, test.name])
        for part in now.parts
        for test in part.tests
        if (part.name, test.name) in earlier
        and not _is_unknown(test, earlier[part.name, test.name])
    ]
    if before.assignment != now.assignment or not both:
        raise ValueError(
            f"it is on {one_line(before.assignment)}, and has no check of this grading"
        )
    changed = [
        Change(part.name, test, old.verdict)
        for part, test, old in both
        if test.verdict is not old.verdict
    ]
    better = tuple(each for each in changed if each.test.verdict is Verdict.ACCEPTED)
    broken = tuple(each for each in changed if each.before is Verdict.ACCEPTED)
    return Comparison(
        points_before=total(old.points for _, _, old in both),
        points_now=total(test.points for _, test, _ in both),
        max_points=total(test.max_points for _, test, _ in both),
        better=better,
        broken=broken,
        other=tuple(each for each in changed if each not in (*better, *broken)),
    )


def _is_unknown(now: TestResult, before: TestResult) -> bool:
    """Return whether only the earlier report ran a test: --fail-fast, or another that failed."""
    return now.verdict is Verdict.SKIPPED and before.verdict is not Verdict.SKIPPED


def changes_text(compared: Comparison, page: Page) -> str:
    """Return it in lines for a terminal; what broke comes last, where the eye is."""
    points = f"{written(compared.points_before)} -> {written(compared.points_now)}"
    head = f"Since the last report: {points} of {written(compared.max_points)}"
    if not (compared.better or compared.other or compared.broken):
        head += "; every check is as it was"
    lines = [page.paint(line, BOLD) for line in page.paragraph(f"{head}.", first="")]
    for words, changes in (
        ("passes now", compared.better),
        ("fails differently", compared.other),
        ("BROKE", compared.broken),
    ):
        for each in changes:
            lines += page.paragraph(_told(words, each), first=INDENT)
    return "\n".join(lines)


def _told(words: str, change: Change) -> str:
    name = one_line(change.test.name).removeprefix("test_").replace("_", " ")
    verdicts = f"{change.before.value} before"
    if change.test.verdict is not Verdict.ACCEPTED:
        verdicts += f", {change.test.verdict.value} now"
    return f"{words}: {one_line(change.part)}: {name} ({verdicts})"
