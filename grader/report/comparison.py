"""What has changed since an earlier report: prices, tests that hold now, and tests that broke."""

from grader.model.points import total, written
from grader.model.report import Report, TestResult, Verdict
from grader.report.safe_text import one_line
from grader.report.terminal_page import BOLD, Page
from grader.report.words import VERDICT_WORDS

_ORDER = ("new price", "passes now", "fails differently", "BROKE")
"""What broke comes last, where the eye is."""


def changes_text(before: Report, now: Report, page: Page) -> str:
    """Return in lines what has changed in the tests that both have. Raises ValueError for none."""
    earlier = {(part.name, test.name): test for part in before.parts for test in part.tests}
    # Nothing is known of tests that only the earlier one ran (--fail-fast, or a failure before).
    both = [
        (part.name, test, old)
        for part in now.parts
        for test in part.tests
        if (old := earlier.get((part.name, test.name))) is not None
        and (test.verdict is not Verdict.SKIPPED or old.verdict is Verdict.SKIPPED)
    ]
    if before.assignment != now.assignment or not both:
        raise ValueError(f"it is for {one_line(before.assignment)} and has none of these checks")
    points = f"{written(total(old.points for *_, old in both))} -> "
    points += written(total(test.points for _, test, _ in both))
    head = f"Since the last report: {points} of {written(total(t.max_points for _, t, _ in both))}"
    changed = [
        (_become(test, old), one_line(part), test, old)
        for part, test, old in both
        if test.verdict is not old.verdict or test.max_points != old.max_points
    ]
    if not changed:
        head += "; no check has changed"
    lines = [page.paint(line, BOLD) for line in page.paragraph(f"{head}.", first="")]
    for become, part, test, old in sorted(changed, key=lambda each: _ORDER.index(each[0])):
        name = one_line(test.name).removeprefix("test_").replace("_", " ")
        was, is_now = VERDICT_WORDS[old.verdict], VERDICT_WORDS[test.verdict]
        if test.verdict is old.verdict:
            was, is_now = (f"{written(each.max_points)} points" for each in (old, test))
        told = f"{was} before" if become == "passes now" else f"{was} before, {is_now} now"
        lines += page.paragraph(f"{become}: {part}: {name} ({told})")
    return "\n".join(lines)


def _become(now: TestResult, before: TestResult) -> str:
    if now.verdict is before.verdict:
        return "new price"
    if now.verdict is Verdict.ACCEPTED:
        return "passes now"
    return "BROKE" if before.verdict is Verdict.ACCEPTED else "fails differently"
