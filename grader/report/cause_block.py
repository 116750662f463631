"""One cause as a student reads it: what, where, what to do, which checks it cost, how to see it."""

from collections.abc import Iterator, Sequence

from grader.model.report import PartResult, Report, TestResult, Verdict
from grader.report.cause_words import (
    SHOWN_IN_CODE,
    again,
    blocked_text,
    check_points,
    checks_text,
    headline,
    helps_of,
    price_of,
    seen_text,
    told_text,
    words_of,
)
from grader.report.causes import Cause, is_all, lost
from grader.report.code import code_lines
from grader.report.evidence import evidence
from grader.report.page import BOLD, DIM, INDENT, Page
from grader.report.safe_text import one_line
from grader.report.text_layout import abridged, cut, num_columns
from grader.report.totals import look_closer, points_text

_MOST_CHECKS = 4
_MOST_OUTPUT_LINES = 5
_MOST_TRACEBACK_LINES = 8


def cause_block(page: Page, report: Report, part: PartResult, cause: Cause) -> list[str]:
    """Return the lines of one cause."""
    told = [page.paint(line, BOLD) for line in page.paragraph(headline(cause))]
    code = code_lines(page, cause.excerpts, told_text(cause))
    lines = [*_heading(page, report, part, cause), *told]
    lines += ["", *code, ""] if code else []
    if cause.verdict is Verdict.NOT_ATTEMPTED and is_all(part, cause) and not page.verbose:
        return lines[:-1] if code else lines
    return [
        *lines,
        *_more(page, cause),
        *_printed(page, cause),
        *_checks(page, part, cause),
        *_commands(page, report, part, cause),
    ]


def _heading(page: Page, report: Report, part: PartResult, cause: Cause) -> list[str]:
    """Return part, verdict and price, in two lines where one is too narrow."""
    words, price = words_of(cause), price_of(report, part, cause)
    name = abridged(one_line(part.name), page.width - len(words) - 4)
    first = f"{page.sign(cause.verdict)} {page.paint(name, BOLD)}  "
    first += page.tinted(words, cause.verdict)
    if num_columns(name) + len(words) + len(price) + 6 <= page.width:
        return [f"{first}  {price}"]
    return [first, *page.paragraph(price)]


def _more(page: Page, cause: Cause) -> Iterator[str]:
    """Yield what else was found, what helps, and in which case it was seen."""
    for finding in cause.findings[1:]:
        if page.verbose or finding.key != SHOWN_IN_CODE or not cause.excerpts:
            yield from page.paragraph(one_line(finding.text))
    for helps in helps_of(cause):
        yield from page.paragraph(helps, first=f"{INDENT}help: ")
    yield from page.paragraph(seen_text(cause))


def _printed(page: Page, cause: Cause) -> Iterator[str]:
    """Yield the traceback, where no line of the student's is shown, and what was printed last."""
    for piece in evidence(cause.detail, None if page.verbose else 1):
        lines: Sequence[str] = piece.lines
        if not page.verbose:
            if cause.excerpts and not piece.is_output:
                continue
            lines = piece.abridged(
                num_traceback_lines=_MOST_TRACEBACK_LINES, num_output_lines=_MOST_OUTPUT_LINES
            )
        yield from (page.paint(line, DIM) for line in page.paragraph(f"{piece.heading}:"))
        for line in lines:
            yield from page.quoted(cut(line, page.width - len(INDENT) - 2))


def _checks(page: Page, part: PartResult, cause: Cause) -> Iterator[str]:
    """Yield the failed checks with their prices, and how many could not run without them."""
    if cause.tests and cause.blocked and is_all(part, cause) and not page.verbose:
        yield from page.paragraph(f"None of the {checks_text(part.tests)} passed.")
        return
    priced = [test for test in cause.tests if test.max_points or page.verbose]
    shown = priced if page.verbose else priced[:_MOST_CHECKS]
    for test in shown:
        yield from check_line(page, test)
    if left := priced[len(shown) :]:
        yield from page.paragraph(f"and {checks_text(left)} more ({points_text(lost(left))})")
    if cause.blocked:
        yield from page.paragraph(blocked_text(cause))
    if page.verbose:
        for test in cause.blocked:
            yield from check_line(page, test)


def check_line(page: Page, test: TestResult) -> list[str]:
    """Return `0 of 3.5  works for any length`."""
    points = check_points(test)
    where = f" ({one_line(test.where)})" if test.where else ""
    return page.paragraph(f"{one_line(test.sentence)}{where}", first=f"{INDENT * 2}{points:>8}  ")


def _commands(page: Page, report: Report, part: PartResult, cause: Cause) -> Iterator[str]:
    command = again(report, part, cause)
    yield f"{INDENT}{page.paint('again:', DIM)}  {page.paint(command, BOLD)}"
    if look := look_closer(report, part, cause.speaker):
        yield f"{INDENT}{page.paint('look:', DIM)}   {page.paint(look, BOLD)}"
