"""A cause in words, the same in every format."""

import re
from collections.abc import Sequence

from grader.model.points import NOT_ALL_TESTS, written
from grader.model.report import PartResult, Report, TestResult, Verdict
from grader.report.causes import Cause, is_all, lost
from grader.report.safe_text import one_line
from grader.report.totals import check_again, points_text
from grader.report.words import VERDICT_WORDS

SHOWN_IN_CODE = "deadlock.waits"
"""The key of a finding that notes beside the student's lines say in fewer words."""
_RANKS = re.compile(r"(\d{1,4}) ranks?\b")
_IS_A_WORD = re.compile("(rank|ranks|the|none|no|all|each|every|it|we|our|this|only|a) ")
"""How a sentence of ours may begin; else it begins with a name, which stays as it is."""
_WORDS_BY_KEY = {"crash.syntax": "does not start"}


def words_of(cause: Cause) -> str:
    """Return the verdict in words."""
    return _WORDS_BY_KEY.get(cause.findings[0].key, VERDICT_WORDS[cause.verdict])


def price_of(report: Report, part: PartResult, cause: Cause) -> str:
    """Return `costs 20 of 25 points`, or what else becomes of them."""
    points = f"{written(cause.points)} of {points_text(part.max_points)}"
    if cause.verdict is Verdict.JUDGE_ERROR:
        return "costs no points; please send this report to your instructor"
    if part.verdict is Verdict.JUDGE_ERROR or NOT_ALL_TESTS in report.notes:
        return "no mark"
    if cause.verdict is Verdict.NOT_PROVEN:
        return f"{points} on hold: your instructor reviews it"
    return f"costs {points}"


def part_points(report: Report, part: PartResult) -> str:
    """Return `3 of 5`, or that there is no mark."""
    if part.verdict is Verdict.JUDGE_ERROR or NOT_ALL_TESTS in report.notes:
        return "no mark"
    return f"{written(part.points)} of {written(part.max_points)}"


def check_points(test: TestResult) -> str:
    """Return `0 of 3.5`."""
    return f"{written(test.points)} of {written(test.max_points)}"


def headline(cause: Cause) -> str:
    """Return what names the cause, as a whole sentence; without the place of lines shown below."""
    first = cause.findings[0]
    text = one_line(first.text)
    if len(first.places) == 1 and first.places[0] in _shown_places(cause):
        text = re.sub(rf" at {re.escape(one_line(first.places[0]))}(?!\d)", "", text, count=1)
    if _IS_A_WORD.match(text):
        text = text[0].upper() + text[1:]
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
    numbers = {int(match[1]) for each in cause.tests if (match := _RANKS.match(each.case))}
    own = _RANKS.match(case)
    others = sorted(numbers - {int(own[1])} if own else ())
    noun = "rank" if others == [1] else "ranks"
    also = f"; also with {', '.join(map(str, others))} {noun}" if others else ""
    return f"Seen with {case}{also}." if case else ""


def again(report: Report, part: PartResult, cause: Cause) -> str:
    """Return the command that shows it again: of the part, or of one test where others differ."""
    is_whole = is_all(part, cause) and NOT_ALL_TESTS not in report.notes
    return check_again(report, part, None if is_whole else cause.speaker)


def _shown_places(cause: Cause) -> set[str]:
    """Return the lines that the cause marks, as `file.py:12`."""
    lines = ((each.file, line) for each in cause.excerpts for line in each.lines)
    return {f"{file}:{line.line}" for file, line in lines if line.finding}


def blocked_text(cause: Cause) -> str:
    """Return how many checks could not run, and what that costs."""
    points = points_text(lost(cause.blocked))
    without = " without that" if cause.tests else ""
    return f"{checks_text(cause.blocked)} could not run{without} ({points})."


def checks_text(tests: Sequence[TestResult]) -> str:
    """Return `1 check`, `3 checks`."""
    return f"{len(tests)} check{'' if len(tests) == 1 else 's'}"
