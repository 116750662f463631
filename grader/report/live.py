"""What a student sees while a grading goes on: a status line, and where each part fails first."""

import threading
import time
from collections.abc import Callable

from grader.model.report import TestResult, Verdict
from grader.recording.journal import Failing, Finished, Step
from grader.report.feedback import result_for_student
from grader.report.safe_text import disarm, one_line, visible
from grader.report.terminal_page import INDENT, Page, abridged, fitting
from grader.report.words import VERDICT_WORDS

STARTING = ": starting"
"""Ends the progress that announces a part."""
_NO_FAILURE = (Verdict.ACCEPTED, Verdict.SKIPPED)
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
        self._replaced = ""
        self._status = ""
        self._verdicts: list[Verdict] = []
        """Of the checks of the part in progress that pay points."""
        self._told_parts: set[str] = set()
        """Those that a failure was shown of."""
        self._began_s = time.monotonic()
        self._lock = threading.Lock()
        self._has_ended = threading.Event()
        if self._overwrites:
            threading.Thread(target=self._tick, name="clock", daemon=True).start()

    def progress(self, text: str) -> None:
        """Show how far the grading has come, in the line that is overwritten; nothing clears it."""
        with self._lock:
            if text.endswith(STARTING):
                self._end_part()
                self._part = text.removesuffix(STARTING)
                text = f"{self._part}  starting"
            self._status = text
            self._show_status()

    def ended(self, told: Finished | Failing) -> None:
        """Count a check that has ended; show the first of a part that fails, as soon as it does."""
        step, result = told.step, told.result
        if isinstance(told, Finished) and (result.is_hidden or not result.max_points):
            return
        with self._lock:
            if isinstance(told, Finished):
                if step.part != self._part:
                    self._end_part()
                    self._part = step.part
                if step.replaced != self._replaced:
                    self._replaced, self._verdicts = step.replaced, []
                self._verdicts.append(result.verdict)
            if result.verdict not in _NO_FAILURE:
                self._tell_failure(step, result)
            self._show_status()

    def _tell_failure(self, step: Step, result: TestResult) -> None:
        # A part that is graded again with our stand-in has failed before.
        if not step.replaced and step.part not in self._told_parts:
            self._told_parts.add(step.part)
            self._say(failure_lines(self._page, step.part, result_for_student(result)))

    def __enter__(self) -> "Live":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Leave the screen to the report, or to what went wrong."""
        self._has_ended.set()
        with self._lock:
            if kind is None:
                self._end_part()
            if self._overwrites:
                self._write(_CLEARED)

    @property
    def _num_failed(self) -> int:
        return sum(each not in _NO_FAILURE for each in self._verdicts)

    def _end_part(self) -> None:
        """Say in a line what became of the part in progress."""
        if self._part and self._verdicts:
            passed = self._verdicts.count(Verdict.ACCEPTED)
            told = f"{one_line(self._part)}: {passed} of {len(self._verdicts)} checks passed"
            worst = max(self._verdicts, key=lambda each: each.severity)
            # The log of a CI runner must not obey what may be a student's words.
            self._say([f"{self._page.sign(worst)} {disarm(told)}"])
        self._replaced, self._verdicts = "", []

    def _tick(self) -> None:
        while not self._has_ended.wait(_TICK_S):
            with self._lock:
                self._show_status()

    def _show_status(self) -> None:
        if not self._overwrites or self._has_ended.is_set():
            return
        failed = f"  [{self._num_failed} failed]" if self._num_failed else ""
        minutes, seconds = divmod(int(time.monotonic() - self._began_s), 60)
        behind = f"{failed}  {minutes}:{seconds:02}"
        told = fitting(visible(self._status), self._page.width - 1 - len(behind))
        self._write(f"{_CLEARED}{told}{behind}" if self._status else _CLEARED)

    def _say(self, lines: list[str]) -> None:
        self._write((_CLEARED if self._overwrites else "") + "".join(f"{x}\n" for x in lines))


def failure_lines(page: Page, part: str, result: TestResult) -> list[str]:
    """Return in two lines what failed, where, and why."""
    words = page.tinted(VERDICT_WORDS[result.verdict], result.verdict)
    text = one_line(result.findings[0].text if result.findings else result.message)
    places = [place for each in result.findings for place in each.places]
    where = f" at {one_line(places[0])}" if places else ""
    first = f"{page.sign(result.verdict)} {disarm(one_line(part))}: {words}{where}"
    return [first, disarm(f"{INDENT}{abridged(text, page.width - len(INDENT))}")]
