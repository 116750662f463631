"""Where in the student's files something was found, for platforms that show it there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from grader.model import PartResult, Report, TestResult, Verdict
from grader.report.export import told
from grader.report.export.marks import cases
from grader.report.safe_text import one_line

_FILE = r"(?:[\w-][\w.-]*/)*[\w-][\w.-]*\.(?:py|ipynb)"
_IN_MESSAGE = re.compile(rf"(?<![\w./-])({_FILE}):(\d{{1,6}})\b", re.ASCII)
_IN_TRACEBACK = re.compile(rf'^  File "({_FILE})", line (\d{{1,6}})\b', re.ASCII | re.MULTILINE)
_NO_FAULT = (Verdict.ACCEPTED, Verdict.SKIPPED)


@dataclass(frozen=True)
class Finding:
    """One reason why a part lost points, at the line that it names."""

    part: str
    verdict: Verdict
    text: str
    file: str
    """Below the submission's folder; empty where no line is known."""
    line: int
    """From 1; 0 where no line is known."""

    @property
    def is_fault(self) -> bool:
        """Return whether the submission is at fault: not the grader, and nothing in doubt."""
        return self.verdict not in (Verdict.JUDGE_ERROR, Verdict.NOT_PROVEN)


def findings(report: Report) -> tuple[Finding, ...]:
    """Return each reason once, with the first line that it names."""
    found = (finding for part in report.parts for finding in _of(part))
    return tuple(dict.fromkeys(found))


def _of(part: PartResult) -> Iterator[Finding]:
    for test in cases(part):
        if test.verdict not in _NO_FAULT:
            file, line = place(test)
            yield Finding(
                one_line(part.name), test.verdict, told.reason(replace(test, where="")), file, line
            )


def place(test: TestResult) -> tuple[str, int]:
    """Return file and line that a result names: in its message, else where its traceback ends."""
    in_message = _IN_MESSAGE.search(test.message)
    if in_message:
        return in_message[1], int(in_message[2])
    in_traceback = _IN_TRACEBACK.findall(test.detail)
    if in_traceback:
        return in_traceback[-1][0], int(in_traceback[-1][1])
    return "", 0
