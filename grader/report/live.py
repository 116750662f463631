"""What a student sees while a grading goes on: a status line, and where each part fails first."""

import threading
import time
from collections.abc import Callable

from grader.model import TestResult, Verdict
from grader.report.feedback import result_for_student
from grader.report.page import INDENT, Page
from grader.report.safe_text import disarm, one_line, visible
from grader.report.text_layout import abridged
from grader.report.words import VERDICT_WORDS

STARTING = ": starting"
"""Ends the progress that announces a part."""
_CLEARED = "\r\x1b[K"
_TICK_S = 1.0


class Live:
    """The display of one grading, on a terminal or in a log."""

    def __init__(self, page: Page, write: Callable[[str], None], *, is_terminal: bool) -> None:
        """write: puts text on the screen as it is. page: how it looks."""
        self._page = page
        self._write = write
        self._overwrites = is_terminal and not page.plain
        self._part = ""
        self._status = ""
        self._num_passed = 0
        self._num_failed = 0
        self._num_not_run = 0
        self._began_s = time.monotonic()
        self._lock = threading.Lock()
        self._has_ended = threading.Event()
        if self._overwrites:
            threading.Thread(target=self._tick, name="clock", daemon=True).start()

    def progress(self, text: str) -> None:
        """Show how far the grading has come, in the line that is overwritten."""
        with self._lock:
            if text.endswith(STARTING):
                self._end_part()
                self._part = text.removesuffix(STARTING)
                text = f"{self._part}  starting"
            self._status = text
            self._show_status()

    def finished(self, part: str, result: TestResult) -> None:
        """Count a test that has ended; show the first of a part that failed."""
        if result.is_hidden:
            return
        with self._lock:
            if part != self._part:
                self._end_part()
                self._part = part
            if result.verdict is Verdict.ACCEPTED:
                self._num_passed += 1
            elif result.verdict is Verdict.SKIPPED:
                self._num_not_run += 1
            else:
                self._num_failed += 1
                if self._num_failed == 1:
                    self._say(failure_lines(self._page, part, result_for_student(result)))
            self._show_status()

    def close(self) -> None:
        """Leave the screen to the report, which begins a line of its own."""
        self._has_ended.set()
        with self._lock:
            self._end_part()
            self._part = ""
            if self._overwrites:
                self._write(_CLEARED)

    def _end_part(self) -> None:
        """Say in a line what became of the part in progress."""
        num_checks = self._num_passed + self._num_failed + self._num_not_run
        if self._part and num_checks:
            told = f"{one_line(self._part)}: {self._num_passed} of {num_checks} checks passed"
            verdict = Verdict.WRONG_ANSWER if self._num_failed else Verdict.ACCEPTED
            # The log of a CI runner must not obey what may be a student's words.
            self._say([f"{self._page.sign(verdict)} {disarm(told)}"])
        self._num_passed = self._num_failed = self._num_not_run = 0

    def _tick(self) -> None:
        while not self._has_ended.wait(_TICK_S):
            with self._lock:
                self._show_status()

    def _show_status(self) -> None:
        if not self._overwrites or not self._status or self._has_ended.is_set():
            return
        failed = f"  [{self._num_failed} failed]" if self._num_failed else ""
        minutes, seconds = divmod(int(time.monotonic() - self._began_s), 60)
        told = f"{visible(self._status)}{failed}  {minutes}:{seconds:02}"
        self._write(f"{_CLEARED}{told[: self._page.width - 1]}")

    def _say(self, lines: list[str]) -> None:
        self._write((_CLEARED if self._overwrites else "") + "".join(f"{x}\n" for x in lines))


def failure_lines(page: Page, part: str, result: TestResult) -> list[str]:
    """Return in two lines what failed, where, and why."""
    words = page.tinted(VERDICT_WORDS[result.verdict], result.verdict)
    text = one_line(result.findings[0].text if result.findings else result.message)
    places = [place for each in result.findings for place in each.places]
    where = f" at {one_line(places[0])}" if places else ""
    first = f"{page.sign(result.verdict)} {disarm(one_line(part))}: {words}{where}"
    return [first, f"{INDENT}{abridged(text, page.width - len(INDENT))}"]
