"""What a student sees while a grading goes on: each test as soon as it is known."""

from collections.abc import Callable

from grader.model import TestResult, Verdict
from grader.report.deductions import number_text, told
from grader.report.feedback import result_for_student
from grader.report.page import BOLD, INDENT, Page
from grader.report.safe_text import disarm, one_line, visible

STARTING = ": starting"
"""Ends the progress that announces a part."""
_CLEARED = "\r\x1b[K"


class Live:
    """The display of one grading, on a terminal or in a log."""

    def __init__(self, page: Page, write: Callable[[str], None], *, is_terminal: bool) -> None:
        """write: puts text on the screen as it is. page: how it looks."""
        self._page = page
        self._write = write
        self._is_terminal = is_terminal
        self._overwrites = is_terminal and not page.plain
        self._part = ""

    def progress(self, text: str) -> None:
        """Show how far the grading has come: in a line that is overwritten, or a line a part."""
        if self._overwrites:
            self._write(f"{_CLEARED}{visible(text)[: self._page.width - 1]}")
        elif text.endswith(STARTING):
            # The log of a CI runner must not obey what may be a student's words.
            self._write(f"grading {disarm(one_line(text.removesuffix(STARTING)))}\n")

    def finished(self, part: str, result: TestResult) -> None:
        """Show a test that has ended; in a log the report comes soon enough."""
        if not self._is_terminal or result.is_hidden:
            return
        lines = result_lines(self._page, result_for_student(result))
        if not lines:
            return
        if part != self._part:
            self._part = part
            lines = [self._page.paint(one_line(part), BOLD), *lines]
        self._write((_CLEARED if self._overwrites else "") + "".join(f"{x}\n" for x in lines))

    def close(self) -> None:
        """Leave the screen to the report, which begins a line of its own."""
        if self._overwrites:
            self._write(_CLEARED)
        if self._part:
            self._write("\n")


def result_lines(page: Page, result: TestResult) -> list[str]:
    """Return a test that has ended: its verdict, what it asks, and why it does not hold.

    What was not run is left to the report, which says it once for all such tests.
    """
    if result.verdict is Verdict.SKIPPED:
        return []
    holds = result.verdict is Verdict.ACCEPTED
    points = number_text(result.max_points if holds else result.max_points - result.points)
    first = f"{page.sign(result.verdict)} {'+' if holds else '-'}{points:<4} "
    later = INDENT * 4
    lines = page.paragraph(one_line(result.sentence), first=first, later=later)
    if holds:
        return lines
    message, clauses = told(result.message)
    lines += page.paragraph(message, first=later, later=later)
    for clause in clauses:
        lines += page.paragraph(clause, first=later + INDENT, later=later + INDENT * 2)
    return lines
