"""What a student reads in a terminal: the costliest cause first, and a table at the end."""

from collections.abc import Iterator, Sequence

from grader.model.plural import counted
from grader.model.points import NOT_ALL_TESTS, points_text, total, written
from grader.model.report import PartResult, Report, TestResult, Verdict
from grader.report.causes import Cause, causes, costliest_first, is_all, is_missing, lost, passed
from grader.report.quotes import code_lines, evidence
from grader.report.safe_text import one_line
from grader.report.terminal_page import BOLD, DIM, INDENT, Page, abridged, cut, num_columns, padded
from grader.report.words import (
    NOT_HANDED_IN,
    SHOWN_IN_CODE,
    VERDICT_WORDS,
    again,
    blocked_text,
    check_points,
    headline,
    helps_of,
    look_closer,
    notes_of,
    price_of,
    score_sentence,
    seen_text,
    stage_text,
    told_text,
    words_of,
)

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
        yield from page.paragraph(f"None of the {counted(len(part.tests), 'check')} passed.")
        return
    priced = [test for test in cause.tests if test.max_points or page.verbose]
    shown = priced if page.verbose else priced[:_MOST_CHECKS]
    for test in shown:
        yield from check_line(page, test)
    if left := priced[len(shown) :]:
        more = counted(len(left), "more check")
        yield from page.paragraph(f"and {more} ({points_text(lost(left))})")
    if cause.blocked:
        yield from page.paragraph(blocked_text(cause))
    if page.verbose:
        for test in cause.blocked:
            yield from check_line(page, test)


def check_line(page: Page, test: TestResult) -> list[str]:
    """Return `0 of 3.5  works for any length`."""
    points = check_points(test)
    where = f" ({one_line(test.where)})" if test.where else ""
    return page.paragraph(f"{one_line(test.sentence)}{where}", first=f"{INDENT * 2}{points:>12}  ")


def _commands(page: Page, report: Report, part: PartResult, cause: Cause) -> Iterator[str]:
    if command := again(report, part, cause):
        yield f"{INDENT}{page.paint('again:', DIM)}  {page.paint(command, BOLD)}"
    if look := look_closer(report, part, cause.evidence):
        yield f"{INDENT}{page.paint('look:', DIM)}   {page.paint(look, BOLD)}"


_MIN_WIDTH = 50
_MAX_NAME_COLUMNS = 24
_DIGEST_NUM_CHARS = 12
_FEWEST_TOGETHER = 2


def render(report: Report, *, colour: bool, width: int, plain: bool, verbose: bool = False) -> str:
    """Return the report in lines of at most `width` columns, but for commands to be copied.

    width: columns; taken as 50 where it is less.
    colour: use ANSI colours; nothing is said by them alone.
    plain: no colour and only ASCII signs; the words are the same.
    verbose: every check, all of the output, and what the grading took.
    """
    page = Page(colour, plain, max(width, _MIN_WIDTH), verbose)
    blocks = [
        *(
            cause_block(page, report, part, cause)
            for part, cause in costliest_first(report)
            if not is_missing(part)
        ),
        list(_notes(page, report)),
        [*_table(page, report), *_total(page, report)],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def brief(report: Report, *, colour: bool, width: int, plain: bool) -> str:
    """Return a line for each part that lost points, with its costliest cause; and the total."""
    page, told = Page(colour, plain, max(width, _MIN_WIDTH), verbose=False), dict[str, str]()
    for part, cause in costliest_first(report):
        if not is_missing(part):
            first = f"{page.sign(cause.verdict)} {one_line(part.name)}  {_points(report, part)}"
            place = "".join(f" at {one_line(each)}" for each in cause.findings[0].places[:1])
            told.setdefault(part.name, f"{first}  {words_of(cause)}{place}")
    return "\n".join([*told.values(), *page.paragraph(score_sentence(report), first="")])


def _notes(page: Page, report: Report) -> Iterator[str]:
    for part in report.parts:
        for found in notes_of(part):
            first = f"note on {one_line(part.name)}: "
            yield from page.paragraph(one_line(str(found)), first=first, later=INDENT)
    for note in report.notes:
        yield from page.paragraph(one_line(note), first="note: ")


def _table(page: Page, report: Report) -> Iterator[str]:
    """Yield a row for each part; those without a file come last, together."""
    missing = [part for part in report.parts if is_missing(part)]
    together = missing if len(missing) >= _FEWEST_TOGETHER else []
    stages = [stage_text(part) for part in report.parts if part not in together]
    rows = [
        (
            abridged(one_line(part.name), _MAX_NAME_COLUMNS),
            _points(report, part),
            _result(part),
            part.verdict,
        )
        for part in report.parts
        if part not in together
    ]
    if together:
        points = f"0 / {written(total(part.max_points for part in together))}"
        others = "other " if len(together) < len(report.parts) else ""
        name = f"{len(together)} {others}parts"
        rows.append((name, points, NOT_HANDED_IN, Verdict.NOT_ATTEMPTED))
        stages.append("")
    names = max((num_columns(name) for name, *_ in rows), default=0)
    most = max((len(points) for _, points, *_ in rows), default=0)
    for (name, points, result, verdict), stage in zip(rows, stages, strict=True):
        first = f"{page.sign(verdict)} {padded(name, names)}  {points:>{most}}  "
        room = page.width - names - most - 6
        yield f"{first}{page.tinted(abridged(result, room), verdict)}"
        if stage:
            yield from page.paragraph(stage)
    for part in missing:
        # A message that names no file says no more than the table.
        is_named = any(f" {each.path} " in f" {part.message} " for each in report.files)
        if len(missing) == len(report.parts) or is_named:
            first = f"{INDENT}{one_line(part.name)}: "
            yield from page.paragraph(one_line(part.message), first=first)
    if page.verbose:
        for part in report.parts:
            for test in passed(part):
                yield from check_line(page, test)


def _points(report: Report, part: PartResult) -> str:
    if NOT_ALL_TESTS in report.notes:
        return "-"
    if part.verdict is Verdict.JUDGE_ERROR:
        return f"- / {written(part.max_points)}"
    return f"{written(part.points)} / {written(part.max_points)}"


def _result(part: PartResult) -> str:
    told = (words_of(each) for each in causes(part) if each.verdict is part.verdict)
    words = NOT_HANDED_IN if is_missing(part) else next(told, VERDICT_WORDS[part.verdict])
    counted = [test for test in part.tests if test.max_points]
    if part.verdict is Verdict.ACCEPTED or not counted:
        return words
    num_passed = sum(test.verdict is Verdict.ACCEPTED for test in counted)
    return f"{words} ({num_passed} of {len(counted)} checks passed)"


def _total(page: Page, report: Report) -> Iterator[str]:
    for line in page.paragraph(score_sentence(report), first=""):
        yield page.paint(line, BOLD)
    if page.verbose:
        for part in report.manual_parts:
            points = f"{INDENT}{written(part.max_points):>3}  "
            text = f"{one_line(part.title)} ({one_line(part.found)})"
            yield from page.paragraph(text, first=points)
        versions = report.versions
        num_launches = sum(part.num_launches for part in report.parts)
        packages = ", ".join(f"{name} {version}" for name, version in versions.packages.items())
        for text in (
            f"{report.wall_time_s:.1f} s, {counted(num_launches, 'launch', 'launches')}, "
            f"started {report.started_at}",
            f"submission {report.submission_digest}",
            f"grader {versions.grader}, engine {versions.engine_digest[:_DIGEST_NUM_CHARS]}, "
            f"course {versions.course} {versions.course_digest[:_DIGEST_NUM_CHARS]}, "
            f"lock {versions.lock_digest[:_DIGEST_NUM_CHARS]}, {packages}",
        ):
            yield from page.paragraph(one_line(text), first="")
