"""Where in the student's files each cause was found, for platforms that show it there."""

import re
from dataclasses import dataclass

from grader.model.report import PartResult, Report, Verdict
from grader.report.cause_words import headline, helps_of, price_of, seen_text, words_of
from grader.report.causes import Cause, dearest_first
from grader.report.safe_text import one_line

_FILE = r"(?:[\w-][\w.-]*/)*[\w-][\w.-]*\.(?:py|ipynb)"
_IN_MESSAGE = re.compile(rf"(?<![\w./-])({_FILE}):(\d{{1,6}})\b", re.ASCII)
_IN_TRACEBACK = re.compile(rf'^  File "({_FILE})", line (\d{{1,6}})\b', re.ASCII | re.MULTILINE)
_NO_FAULT = (Verdict.JUDGE_ERROR, Verdict.NOT_PROVEN)


@dataclass(frozen=True)
class Annotation:
    """One cause, at the line that it names."""

    part: str
    verdict: Verdict
    title: str
    """`ring_allreduce: deadlock, costs 20 of 25 points`."""
    text: str
    key: str
    file: str
    """From the root of the hand-in; empty where no line is known."""
    line: int
    """From 1; 0 where no line is known."""

    @property
    def is_fault(self) -> bool:
        """Return whether the submission is at fault: not the grader, and nothing in doubt."""
        return self.verdict not in _NO_FAULT


def findings(report: Report) -> tuple[Annotation, ...]:
    """Return each cause, the dearest first, with the first line that it names."""
    return tuple(
        _annotation(report, part, cause)
        for part, cause in dearest_first(report)
        if cause.verdict is not Verdict.SKIPPED
    )


def _annotation(report: Report, part: PartResult, cause: Cause) -> Annotation:
    file, line = place(cause)
    name = one_line(part.name)
    text = " ".join(filter(None, [headline(cause), *helps_of(cause), seen_text(cause)]))
    title = f"{name}: {words_of(cause)}, {price_of(report, part, cause)}"
    return Annotation(name, cause.verdict, title, text, cause.findings[0].key, file, line)


def place(cause: Cause) -> tuple[str, int]:
    """Return the first line that a cause is about: shown, named, or where its traceback ends."""
    for excerpt in cause.excerpts:
        marked = [each.line for each in excerpt.lines if each.finding]
        if marked and re.fullmatch(_FILE, excerpt.file, re.ASCII):
            return excerpt.file, marked[0]
    for finding in cause.findings:
        if found := _IN_MESSAGE.search(" ".join((*finding.places, finding.text))):
            return found[1], int(found[2])
    if in_traceback := _IN_TRACEBACK.findall(cause.detail):
        return in_traceback[-1][0], int(in_traceback[-1][1])
    return "", 0
