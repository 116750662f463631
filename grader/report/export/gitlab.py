"""The report as GitLab's Code Quality report: findings on the student's lines.

Fields and their meaning: GitLab's documentation, "Code Quality", "Code Quality report format". What
names no line is in the JUnit report alone.
"""

import hashlib
from collections import Counter

from grader.model import Report, Verdict
from grader.report.export.findings import Finding, findings
from grader.report.json_text import dump

_SEVERITIES = {
    Verdict.JUDGE_ERROR: "info",
    Verdict.NOT_PROVEN: "info",
    Verdict.NOT_ATTEMPTED: "info",
    Verdict.RULE_VIOLATION: "minor",
    Verdict.WRONG_ANSWER: "major",
}
_ENDED = "critical"
"""A crash, a deadlock, a limit."""


def render(report: Report) -> str:
    """Return the JSON: an array with an object for each finding that has a line."""
    # Of the same finding twice, as of two tests, the platform keeps one for each fingerprint.
    counts: Counter[str] = Counter()
    shown = []
    for each in findings(report):
        if each.file:
            told = "\0".join((each.part, each.verdict.value, each.file, each.text))
            shown.append(_violation(each, _fingerprint(told, counts[told])))
            counts[told] += 1
    return dump(shown)


def _violation(finding: Finding, fingerprint: str) -> dict[str, object]:
    return {
        "description": f"{finding.part}: {finding.text}",
        "check_name": finding.verdict.value,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES.get(finding.verdict, _ENDED),
        "location": {"path": finding.file, "lines": {"begin": finding.line}},
    }


def _fingerprint(told: str, num_before: int) -> str:
    """Return what stays the same for the same finding in the next report."""
    told += f"\0{num_before}" if num_before else ""
    return hashlib.sha256(told.encode("utf-8", "backslashreplace")).hexdigest()
