"""What a student reads in a terminal: each part, the sentence that helps, what to do next."""

from collections.abc import Sequence
from itertools import groupby

from grader.model import ManualPart, PartResult, Report, Verdict
from grader.points import total
from grader.report.deductions import number_text, points_text, score_sentence
from grader.report.failed_part import advice, dim, failed_part, held_tests
from grader.report.page import BOLD, INDENT, Page
from grader.report.safe_text import one_line
from grader.report.text_layout import num_columns, padded

_MIN_WIDTH = 50
_MAX_NAME_COLUMNS = 24
_DIGEST_NUM_CHARS = 12
_BRIEF = (Verdict.NOT_ATTEMPTED, Verdict.ACCEPTED)
_MODES = {
    "local": "checked here, unsealed: not the mark",
    "container": "graded in the container",
}


def render(report: Report, *, colour: bool, width: int, plain: bool, verbose: bool = False) -> str:
    """Return the report in lines of at most `width` columns, but for commands to be copied.

    width: columns; taken as 50 where it is less.
    colour: use ANSI colours; nothing is said by them alone.
    plain: no colour and only ASCII signs; the words are the same.
    verbose: every test, all of the output, and what the grading took.
    """
    page = Page(colour, plain, max(width, _MIN_WIDTH), verbose)
    blocks = [_head(page, report)]
    for is_brief, parts in groupby(report.parts, lambda part: part.verdict in _BRIEF):
        if is_brief:
            blocks.append(_brief(page, list(parts)))
        else:
            blocks += [failed_part(page, report, part) for part in parts]
    blocks += [
        _manual(page, report.manual_parts),
        [line for note in report.notes for line in page.paragraph(one_line(note), first="note: ")],
        _total(page, report),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _head(page: Page, report: Report) -> list[str]:
    title = page.paragraph(f"{one_line(report.assignment)}: {one_line(report.title)}", first="")
    mode = _MODES.get(report.mode, one_line(report.mode))
    if report.is_recognised:
        mode += "; the assignment was recognised by its files"
    return [
        *(page.paint(line, BOLD) for line in title),
        *page.paragraph(one_line(report.submission), first=""),
        *page.paragraph(mode, first=""),
    ]


def _brief(page: Page, parts: Sequence[PartResult]) -> list[str]:
    """Return parts that need no explanation: those not tried, those accepted."""
    names = {part.name: one_line(part.name, _MAX_NAME_COLUMNS) for part in parts}
    name_num_columns = max(map(num_columns, names.values()), default=0)
    lines = []
    for part in parts:
        points = f"{number_text(part.points):>2} of {number_text(part.max_points):>2}"
        name = padded(names[part.name], name_num_columns)
        lines.append(page.row(name, one_line(part.title), part.verdict, points))
        if part.verdict is Verdict.NOT_ATTEMPTED and part.message:
            lines += dim(page, page.paragraph(one_line(part.message), first=INDENT))
        lines += held_tests(page, part) if page.verbose else []
        lines += advice(page, part)
    return lines


def _manual(page: Page, parts: Sequence[ManualPart]) -> list[str]:
    """Return what a person will mark; what all of it was found in is said once."""
    if not parts:
        return []
    pending = points_text(total(part.max_points for part in parts))
    found = {part.found for part in parts}
    shared = f": {one_line(parts[0].found)}" if len(found) == 1 else ""
    lines = page.paragraph(f"Marked by a person, {pending} pending{shared}", first="")
    for part in parts:
        own = "" if shared else f" ({one_line(part.found)})"
        first = f"{INDENT}{number_text(part.max_points):>3}  "
        lines += page.paragraph(f"{one_line(part.title)}{own}", first=first)
    return lines


def _total(page: Page, report: Report) -> list[str]:
    lines = [page.paint(line, BOLD) for line in page.paragraph(score_sentence(report), first="")]
    if not page.verbose:
        return lines
    versions = report.versions
    num_launches = sum(part.num_launches for part in report.parts)
    packages = ", ".join(f"{name} {version}" for name, version in versions.packages.items())
    told = [
        f"{report.wall_time_s:.1f} s, {num_launches} launches, started {report.started_at}",
        f"submission {report.submission_digest}",
        f"grader {versions.grader}, engine {versions.engine_digest[:_DIGEST_NUM_CHARS]}, "
        f"course {versions.course} {versions.course_digest[:_DIGEST_NUM_CHARS]}, "
        f"lock {versions.lock_digest[:_DIGEST_NUM_CHARS]}, {packages}",
    ]
    return lines + [line for text in told for line in page.paragraph(one_line(text), first="")]
