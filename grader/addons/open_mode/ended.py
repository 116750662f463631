"""Why an open session was ended, as a student reads it."""

from grader.model.report import RunFailure
from grader.report.page import BOLD, Page
from grader.report.quotes import evidence
from grader.report.safe_text import one_line


def ended(page: Page, test: str, failure: RunFailure) -> list[str]:
    """Return the lines: which test, the sentence, what was printed last, and what is possible now.

    test: in which the ranks hung or crashed.
    """
    lines = ["", f"{page.verdict(failure.verdict)} in {page.paint(one_line(test), BOLD)}"]
    lines += page.message(failure.message)
    for piece in evidence(failure.detail):
        lines += ["", *page.paragraph(f"{piece.heading}:"), *page.quoted(piece.lines)]
    name = one_line(test.partition("[")[0].removeprefix("test_"))
    next_step = (
        "The session stopped, because a rank that hangs or has crashed cannot continue. To "
        f'run the others, leave this one out: -k "not {name}"'
    )
    return [*lines, "", *page.paragraph(next_step)]
