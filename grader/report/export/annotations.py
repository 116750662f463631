"""Each cause at the student's line that it names: as GitHub's commands, as GitLab's Code Quality.

A runner obeys every command that is printed, so nothing of a submission may become a command.
GitLab's fields and their meaning: its documentation, "Code Quality", "Code Quality report format".
What names no line is in the JUnit report alone.
"""

import hashlib
import re
from collections import Counter
from dataclasses import dataclass

from grader.model.report import PartResult, Report, Verdict
from grader.report.causes import Cause, costliest_first
from grader.report.safe_text import dump, one_line
from grader.report.words import headline, helps_of, price_of, seen_text, words_of

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


def findings(report: Report) -> tuple[Annotation, ...]:
    """Return each cause, the costliest first, with the first line that it names."""
    return tuple(
        _annotation(report, part, cause)
        for part, cause in costliest_first(report)
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


_MOST_OF_A_KIND = 10
"""GitHub shows so many errors and so many warnings of a step."""


def github_commands(report: Report) -> str:
    """Return the commands: an error for lost points, a warning where no mark can be given.

    What was not tried is a notice.
    """
    by_kind: dict[str, list[Annotation]] = {"warning": [], "error": [], "notice": []}
    for each in findings(report):
        by_kind[_kind(each)].append(each)
    return "\n".join(
        _command(kind, each) for kind, found in by_kind.items() for each in found[:_MOST_OF_A_KIND]
    )


def _kind(finding: Annotation) -> str:
    if finding.verdict is Verdict.NOT_ATTEMPTED:
        return "notice"
    return "warning" if finding.verdict in _NO_FAULT else "error"


def _command(kind: str, finding: Annotation) -> str:
    properties = [f"title={_property(finding.title)}"]
    if finding.file:
        properties = [f"file={_property(finding.file)}", f"line={finding.line}", *properties]
    return f"::{kind} {','.join(properties)}::{_data(finding.text)}"


def _data(text: str) -> str:
    """Escape what ends a command or begins an escape."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


_SEVERITIES = {
    Verdict.JUDGE_ERROR: "info",
    Verdict.NOT_PROVEN: "info",
    Verdict.NOT_ATTEMPTED: "info",
    Verdict.RULE_VIOLATION: "minor",
    Verdict.WRONG_ANSWER: "major",
}
_ENDED = "critical"
"""A crash, a deadlock, a limit."""


def gitlab_json(report: Report) -> str:
    """Return the JSON: an array with an object for each finding that has a line."""
    found = [each for each in findings(report) if each.file]
    alike: Counter[str] = Counter()
    violations = []
    for each in found:
        told = "\0".join((each.part, each.verdict.value, each.file, each.text))
        # Lines move with every change, so those that differ in it alone are counted.
        violations.append(_violation(each, f"{told}\0{alike[told]}"))
        alike[told] += 1
    return dump(violations)


def _violation(finding: Annotation, identity: str) -> dict[str, object]:
    """Return one finding; identity: what stays the same in the next report, and no other has."""
    return {
        "description": f"{finding.part}: {finding.text}",
        "check_name": finding.key or finding.verdict.value,
        "fingerprint": hashlib.sha256(identity.encode("utf-8", "backslashreplace")).hexdigest(),
        "severity": _SEVERITIES.get(finding.verdict, _ENDED),
        "location": {"path": finding.file, "lines": {"begin": finding.line}},
    }
