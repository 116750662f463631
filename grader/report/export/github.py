"""The report as annotations of GitHub Actions: workflow commands, a line each.

Whoever prints them has the runner obey them: nothing of a submission may be a command of its own.
"""

from grader.model.report import Report, Verdict
from grader.report.export.findings import Annotation, findings

_MOST_OF_A_KIND = 10
"""GitHub shows so many errors and so many warnings of a step."""


def render(report: Report) -> str:
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
    return "error" if finding.is_fault else "warning"


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
