"""One part that lost points, as a student reads it: why, what it cost, the evidence, what next."""

from collections.abc import Sequence

from grader.model import PartResult, Report, TestResult, Verdict
from grader.points import total
from grader.report.deductions import (
    Deduction,
    command_again,
    losses,
    not_run,
    number_text,
    passed,
    points_text,
)
from grader.report.evidence import Evidence, evidence
from grader.report.page import BOLD, DIM, INDENT, Page
from grader.report.safe_text import one_line
from grader.report.text_layout import abridged, cut

_MAX_TRACEBACK_LINES = 12
_MAX_OUTPUT_LINES = 5
_MAX_OUTPUTS = 4
_MAX_LOSSES = 4


def failed_part(page: Page, report: Report, part: PartResult) -> list[str]:
    """Return the lines of one part."""
    is_marked = part.verdict is not Verdict.JUDGE_ERROR
    points = f"{number_text(part.points)} of {number_text(part.max_points)}"
    heading = page.heading(one_line(part.name), part.verdict, points if is_marked else "no mark")
    blocks = [[heading, *dim(page, page.paragraph(one_line(part.title)))]]
    found = losses(part)
    shown = found if page.verbose else found[:_MAX_LOSSES]
    for index, loss in enumerate(shown):
        blocks += _loss(page, loss, is_marked=is_marked, is_only=len(found) == 1, index=index)
    command = page.paint(command_again(report, part), BOLD)
    again = f"{INDENT}{page.paint('see it again:', DIM)}  {command}"
    blocks += [_rest(page, part, found[len(shown) :]), advice(page, part), [again]]
    return _apart(blocks)


def _loss(
    page: Page, loss: Deduction, *, is_marked: bool, is_only: bool, index: int
) -> list[list[str]]:
    """Return why points were lost, which tests that cost, and the evidence."""
    reason = [] if is_only else [f"{INDENT}{page.verdict(loss.verdict)}"]
    message, clauses = loss.told()
    reason += page.paragraph(message)
    for clause in clauses:
        reason += page.paragraph(clause, first=INDENT * 2, later=INDENT * 3)
    reason += page.paragraph(loss.meaning)
    tests = []
    for test in loss.tests:
        lost = test.max_points - test.points
        sign = "-" if is_marked and lost else ""
        tests += _test(page, test, f"{sign}{number_text(lost)}")
    blocks = [reason, tests]
    if index == 0 or page.verbose:
        blocks.append(_evidence(page, evidence(loss.detail)))
    return blocks


def _test(page: Page, test: TestResult, points: str) -> list[str]:
    where = f" ({one_line(test.where)})" if test.where else ""
    return page.paragraph(f"{one_line(test.sentence)}{where}", first=f"{INDENT}{points:>3}  ")


def _evidence(page: Page, pieces: Sequence[Evidence]) -> list[str]:
    """Return what was printed; of long or many outputs the end and the first ones."""
    outputs = [piece for piece in pieces if piece.is_output]
    shown = (
        pieces if page.verbose else [*pieces[: len(pieces) - len(outputs)], *outputs[:_MAX_OUTPUTS]]
    )
    lines = []
    for piece in shown:
        kept: Sequence[str] = piece.lines
        if not page.verbose:
            kept = piece.abridged(
                num_traceback_lines=_MAX_TRACEBACK_LINES, num_output_lines=_MAX_OUTPUT_LINES
            )
        lines += dim(page, page.paragraph(f"{piece.heading}:"))
        for line in kept:
            lines += page.quoted(cut(line, page.width - len(INDENT) - 2))
    if len(shown) < len(pieces):
        text = f"{len(pieces) - len(shown)} more: --verbose shows the output of every rank"
        lines += dim(page, page.paragraph(text))
    return lines


def _rest(page: Page, part: PartResult, left_out: Sequence[Deduction]) -> list[str]:
    """Return what is left to know of the part, in a line each."""
    lines = []
    if left_out:
        lost = points_text(total(loss.points for loss in left_out))
        lines += page.paragraph(f"{lost} lost for {len(left_out)} more: --verbose shows why")
    for loss in not_run(part):
        lines += page.paragraph(
            f"{_tests_text(loss.tests)} ({points_text(loss.points)}) {one_line(loss.message)}"
        )
        if page.verbose:
            for test in loss.tests:
                lines += _test(page, test, "not run")
    holding = passed(part)
    if holding:
        gained = points_text(total(test.points for test in holding))
        verb = "holds" if len(holding) == 1 else "hold"
        lines += page.paragraph(f"{_tests_text(holding)} ({gained}) {verb}")
    return lines + (held_tests(page, part) if page.verbose else [])


def held_tests(page: Page, part: PartResult) -> list[str]:
    """Return the tests of a part that hold."""
    return [
        line for test in passed(part) for line in _test(page, test, f"+{number_text(test.points)}")
    ]


def advice(page: Page, part: PartResult) -> list[str]:
    """Return the notes of a part, each collapsed to one line."""
    lines = []
    for note in part.notes:
        if page.verbose:
            lines += page.paragraph(one_line(note), first=f"{INDENT}note: ")
        else:
            lines.append(abridged(f"{INDENT}note: {one_line(note)}", page.width))
    return lines


def _tests_text(tests: Sequence[TestResult]) -> str:
    return f"{len(tests)} test{'' if len(tests) == 1 else 's'}"


def _apart(blocks: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of all blocks, an empty line between two."""
    filled = [block for block in blocks if block]
    return [line for block in filled for line in ("", *block)][1:]


def dim(page: Page, lines: Sequence[str]) -> list[str]:
    """Return the lines in a faint colour."""
    return [page.paint(line, DIM) for line in lines]
