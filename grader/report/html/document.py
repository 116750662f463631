"""The page of a report: its head, each cause, the parts, what holds, versions."""

from grader.model.report import Report, Verdict
from grader.report.causes import dearest_first, is_missing
from grader.report.html.templates import page
from grader.report.safe_text import one_line

_SIGNS = {
    Verdict.ACCEPTED: ("✓", "good"),
    Verdict.SKIPPED: ("~", "doubt"),
    Verdict.NOT_ATTEMPTED: ("○", "doubt"),
    Verdict.NOT_PROVEN: ("?", "doubt"),
    Verdict.JUDGE_ERROR: ("!", "judge"),
}


def render(report: Report, *, is_in_frame: bool = False) -> str:
    """Return the report as one HTML page that loads nothing and runs nothing.

    is_in_frame: it is to be the `srcdoc` of a frame, not a file.
    """
    found = [each for each in dearest_first(report) if not is_missing(each[0])]
    return page(
        "report/html/report.html",
        f"{one_line(report.assignment)}: {one_line(report.submission)}",
        is_in_frame=is_in_frame,
        report=report,
        found=found,
        # Of the dearest cause of each part.
        number_of={part.name: n for n, (part, _) in reversed([*enumerate(found, 1)])},
        sign_of=lambda verdict: _SIGNS.get(verdict, ("✗", "bad")),
    )
