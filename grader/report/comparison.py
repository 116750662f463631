"""What has changed since an earlier report: tests that hold now, and tests that broke."""

from dataclasses import dataclass

from grader.model.points import total, written
from grader.model.report import Report, TestResult, Verdict
from grader.report.page import BOLD, Page
from grader.report.safe_text import one_line


@dataclass(frozen=True)
class Change:
    """A test whose verdict is another one now."""

    part: str
    test: TestResult
    """As it is now."""
    before: Verdict

    @property
    def words(self) -> str:
        """Return what has become of the test, in words."""
        if self.test.verdict is Verdict.ACCEPTED:
            return "passes now"
        return "BROKE" if self.before is Verdict.ACCEPTED else "fails differently"


@dataclass(frozen=True)
class Comparison:
    """Two reports, as far as both are about the same tests."""

    points_before: float
    points_now: float
    max_points: float
    """Of the tests that both have, as they are now."""
    changes: tuple[Change, ...]
    """What broke comes last, where the eye is."""


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
        raise ValueError(f"it is for {one_line(before.assignment)} and has none of these checks")
    changed = (
        Change(part.name, test, old.verdict)
        for part, test, old in both
        if test.verdict is not old.verdict
    )
    order = ("passes now", "fails differently", "BROKE")
    return Comparison(
        points_before=total(old.points for _, _, old in both),
        points_now=total(test.points for _, test, _ in both),
        max_points=total(test.max_points for _, test, _ in both),
        changes=tuple(sorted(changed, key=lambda each: order.index(each.words))),
    )


def _is_unknown(now: TestResult, before: TestResult) -> bool:
    """Return whether only the earlier report ran a test: --fail-fast, or another that failed."""
    return now.verdict is Verdict.SKIPPED and before.verdict is not Verdict.SKIPPED


def changes_text(compared: Comparison, page: Page) -> str:
    """Return it in lines for a terminal."""
    points = f"{written(compared.points_before)} -> {written(compared.points_now)}"
    head = f"Since the last report: {points} of {written(compared.max_points)}"
    if not compared.changes:
        head += "; no check has changed"
    lines = [page.paint(line, BOLD) for line in page.paragraph(f"{head}.", first="")]
    for each in compared.changes:
        name = one_line(each.test.name).removeprefix("test_").replace("_", " ")
        verdicts = f"{each.before.value} before"
        if each.test.verdict is not Verdict.ACCEPTED:
            verdicts += f", {each.test.verdict.value} now"
        lines += page.paragraph(f"{each.words}: {one_line(each.part)}: {name} ({verdicts})")
    return "\n".join(lines)
