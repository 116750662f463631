"""A cause in words, the same in every format."""

from collections.abc import Sequence

from grader.model import PartResult, Report, TestResult, Verdict
from grader.points import NOT_ALL_TESTS, total
from grader.report.causes import Cause
from grader.report.safe_text import one_line
from grader.report.totals import number_text, points_text
from grader.report.words import VERDICT_WORDS

SHOWN_IN_CODE = "deadlock.waits"
"""The key of a finding that notes beside the student's lines say in fewer words."""
_WORDS_BY_KEY = {"crash.syntax": "does not start"}


def words_of(cause: Cause) -> str:
    """Return the verdict in words."""
    return _WORDS_BY_KEY.get(cause.findings[0].key, VERDICT_WORDS[cause.verdict])


def price_of(report: Report, part: PartResult, cause: Cause) -> str:
    """Return `costs 20 of 25 points`, or what else becomes of them."""
    points = f"{number_text(cause.points)} of {points_text(part.max_points)}"
    if cause.verdict is Verdict.JUDGE_ERROR:
        return "costs no points; please pass this report on to the course"
    if part.verdict is Verdict.JUDGE_ERROR or NOT_ALL_TESTS in report.notes:
        return "no mark"
    if cause.verdict is Verdict.NOT_PROVEN:
        return f"withholds {points}; a person has to look"
    return f"costs {points}"


def part_points(report: Report, part: PartResult) -> str:
    """Return `3 of 5`, or that there is no mark."""
    if part.verdict is Verdict.JUDGE_ERROR or NOT_ALL_TESTS in report.notes:
        return "no mark"
    return f"{number_text(part.points)} of {number_text(part.max_points)}"


def check_points(test: TestResult) -> str:
    """Return `0 of 3.5`."""
    return f"{number_text(test.points)} of {number_text(test.max_points)}"


def headline(cause: Cause) -> str:
    """Return what names the cause, as a whole sentence."""
    text = one_line(cause.findings[0].text)
    return text if text.endswith((".", "?", "!")) else f"{text}."


def told_text(cause: Cause) -> str:
    """Return all sentences of a cause, which need no repeating beside a line of code."""
    return " ".join(one_line(each.text) for each in cause.findings)


def helps_of(cause: Cause) -> list[str]:
    """Return what to do, each advice once."""
    return list(dict.fromkeys(one_line(each.help) for each in cause.findings if each.help))


def seen_text(cause: Cause) -> str:
    """Return in which case it was seen; empty where that is not known."""
    case = one_line(cause.speaker.case) if cause.speaker is not None else ""
    return f"Seen with {case}." if case else ""


def blocked_text(cause: Cause) -> str:
    """Return how many checks could not run, and what they are worth."""
    points = points_text(total(test.max_points for test in cause.blocked))
    without = " without that" if cause.tests else ""
    return f"{checks_text(cause.blocked)} could not run{without} ({points})."


def checks_text(tests: Sequence[TestResult]) -> str:
    """Return `1 check`, `3 checks`."""
    return f"{len(tests)} check{'' if len(tests) == 1 else 's'}"
