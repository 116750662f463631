"""The report as annotations of GitHub Actions: workflow commands, a line each.

Whoever prints them has the runner obey them: nothing of a submission may be a command of its own.
"""

from grader.model import Report
from grader.report.export.findings import Finding, findings

_MOST_OF_A_KIND = 10
"""GitHub shows so many errors and so many warnings of a step."""


def render(report: Report) -> str:
    """Return the commands: an error for lost points, a warning where no mark can be given."""
    found = findings(report)
    faults = [each for each in found if each.is_fault][:_MOST_OF_A_KIND]
    others = [each for each in found if not each.is_fault][:_MOST_OF_A_KIND]
    return "\n".join(map(_command, [*others, *faults]))


def _command(finding: Finding) -> str:
    title = f"{finding.part}: {finding.verdict.value}"
    properties = [f"title={_property(title)}"]
    if finding.file:
        properties = [f"file={_property(finding.file)}", f"line={finding.line}", *properties]
    kind = "error" if finding.is_fault else "warning"
    return f"::{kind} {','.join(properties)}::{_data(finding.text)}"


def _data(text: str) -> str:
    """Escape what ends a command or begins an escape."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
