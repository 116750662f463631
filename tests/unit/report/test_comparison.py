"""What --since says: what passes now, what broke, and nothing of tests that only one report has."""

from dataclasses import replace

import pytest

from grader.model.report import Verdict
from grader.report.comparison import changes_text
from grader.report.terminal_page import Page

from . import example, hostile
from .harmless import assert_no_command

PAGE = Page(colour=False, plain=True, width=80, verbose=False)


def of(*verdicts: Verdict, part: str = "ring"):
    tests = [
        replace(
            example.passed(f"test_number_{n}", "It is right.", 2),
            verdict=verdict,
            points=2 if verdict is Verdict.ACCEPTED else 0,
        )
        for n, verdict in enumerate(verdicts)
    ]
    return replace(example.usual(), parts=(example.part(part, "A ring", *tests),))


BEFORE = of(Verdict.ACCEPTED, Verdict.DEADLOCK, Verdict.WRONG_ANSWER, Verdict.SKIPPED)
NOW = of(Verdict.WRONG_ANSWER, Verdict.ACCEPTED, Verdict.DEADLOCK, Verdict.SKIPPED)


def test_each_change_is_told_once():
    assert changes_text(BEFORE, NOW, PAGE).split("\n") == [
        "Since the last report: 2 -> 2 of 8.",
        "  passes now: ring: number 1 (deadlock before)",
        "  fails differently: ring: number 2 (wrong answer before, deadlock now)",
        "  BROKE: ring: number 0 (passed before, wrong answer now)",
    ]


def test_the_same_is_the_same():
    told = changes_text(NOW, NOW, PAGE)
    assert told == "Since the last report: 2 -> 2 of 8; no check has changed."


def test_a_changed_price_is_told():
    dearer = [replace(each, max_points=3.0) for each in NOW.parts[0].tests[:1]]
    tests = (*dearer, *NOW.parts[0].tests[1:])
    now = replace(NOW, parts=(replace(NOW.parts[0], tests=tests),))
    assert changes_text(NOW, now, PAGE).split("\n") == [
        "Since the last report: 2 -> 2 of 9.",
        "  new price: ring: number 0 (2 points before, 3 points now)",
    ]


def test_only_tests_of_both_count():
    """A grading of one part is compared with that part of a whole one."""
    whole = replace(BEFORE, parts=(*BEFORE.parts, *of(Verdict.ACCEPTED, part="other").parts))
    assert changes_text(whole, NOW, PAGE) == changes_text(BEFORE, NOW, PAGE)


@pytest.mark.parametrize(
    "before", [replace(BEFORE, assignment="another"), of(Verdict.ACCEPTED, part="another")]
)
def test_a_report_on_something_else_cannot_be_compared(before):
    with pytest.raises(ValueError, match="and has none of these checks"):
        changes_text(before, NOW, PAGE)


@pytest.mark.parametrize("text", hostile.TEXTS, ids=range(len(hostile.TEXTS)))
def test_no_text_is_active_in_a_comparison(text):
    report = hostile.everywhere(text)
    before = replace(
        report,
        parts=tuple(
            replace(
                part,
                tests=tuple(replace(test, verdict=Verdict.DEADLOCK) for test in part.tests),
            )
            for part in report.parts
        ),
    )
    for line in changes_text(before, report, PAGE).split("\n"):
        assert_no_command(line)


def test_a_test_that_was_not_run_now_has_not_broken():
    """After --fail-fast, or another failure, nothing is known of it."""
    before, now = of(Verdict.ACCEPTED, Verdict.ACCEPTED), of(Verdict.ACCEPTED, Verdict.SKIPPED)
    told = changes_text(before, now, PAGE)
    assert told == "Since the last report: 2 -> 2 of 2; no check has changed."
