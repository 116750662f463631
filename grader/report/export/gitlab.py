"""The report as GitLab's Code Quality report: findings on the student's lines.

Fields and their meaning: GitLab's documentation, "Code Quality", "Code Quality report format". What
names no line is in the JUnit report alone.
"""

import hashlib

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
    return dump([_violation(each) for each in findings(report) if each.file])


def _violation(finding: Finding) -> dict[str, object]:
    return {
        "description": f"{finding.part}: {finding.text}",
        "check_name": finding.verdict.value,
        "fingerprint": _fingerprint(finding),
        "severity": _SEVERITIES.get(finding.verdict, _ENDED),
        "location": {"path": finding.file, "lines": {"begin": finding.line}},
    }


def _fingerprint(finding: Finding) -> str:
    """Return what stays the same for the same finding in the next report."""
    told = "\0".join((finding.part, finding.verdict.value, finding.file, finding.text))
    return hashlib.sha256(told.encode("utf-8", "backslashreplace")).hexdigest()
