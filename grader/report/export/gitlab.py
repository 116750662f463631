"""The report as GitLab's Code Quality report: findings on the student's lines.

Fields and their meaning: GitLab's documentation, "Code Quality", "Code Quality report format". What
names no line is in the JUnit report alone.
"""

import hashlib
from collections import Counter

from grader.model.report import Report, Verdict
from grader.report.export.findings import Annotation, findings
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
