"""What a student reads in a terminal: the dearest cause first, and a table at the end."""

from collections.abc import Iterator

from grader.model.points import NOT_ALL_TESTS, total, written
from grader.model.report import PartResult, Report, Verdict
from grader.report.cause_block import cause_block, check_line
from grader.report.cause_words import words_of
from grader.report.causes import causes, dearest_first, is_missing, passed
from grader.report.page import BOLD, INDENT, Page
from grader.report.safe_text import one_line
from grader.report.text_layout import abridged, num_columns, padded
from grader.report.totals import score_sentence
from grader.report.words import NOT_HANDED_IN, VERDICT_WORDS

_MIN_WIDTH = 50
_MAX_NAME_COLUMNS = 24
_DIGEST_NUM_CHARS = 12
_FEWEST_TOGETHER = 2
STAGE_PAID = "stage.paid"
"""The key of the note that says which stage pays."""


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
            for part, cause in dearest_first(report)
            if not is_missing(part)
        ),
        list(_notes(page, report)),
        [*_table(page, report), *_total(page, report)],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def brief(report: Report, *, colour: bool, width: int, plain: bool) -> str:
    """Return a line for each part that lost points, with its dearest cause; and the total.

    colour, width, plain: as for render.
    """
    page, told = Page(colour, plain, max(width, _MIN_WIDTH), verbose=False), dict[str, str]()
    for part, cause in dearest_first(report):
        if not is_missing(part):
            first = f"{page.sign(cause.verdict)} {one_line(part.name)}  {_points(report, part)}"
            place = "".join(f" at {one_line(each)}" for each in cause.findings[0].places[:1])
            told.setdefault(part.name, f"{first}  {words_of(cause)}{place}")
    return "\n".join([*told.values(), *page.paragraph(score_sentence(report), first="")])


def _notes(page: Page, report: Report) -> Iterator[str]:
    for part in report.parts:
        for found in part.notes:
            if found.key == STAGE_PAID:  # told beside the points
                continue
            first = f"note on {one_line(part.name)}: "
            yield from page.paragraph(one_line(str(found)), first=first, later=INDENT)
    for note in report.notes:
        yield from page.paragraph(one_line(note), first="note: ")


def _table(page: Page, report: Report) -> Iterator[str]:
    """Yield a row for each part; those without a file come last, together."""
    missing = [part for part in report.parts if is_missing(part)]
    together = missing if len(missing) >= _FEWEST_TOGETHER else []
    stages = [_stage(part) for part in report.parts if part not in together]
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
        if len(missing) == len(report.parts) or _names_a_file(report, part):
            first = f"{INDENT}{one_line(part.name)}: "
            yield from page.paragraph(one_line(part.message), first=first)
    if page.verbose:
        for part in report.parts:
            for test in passed(part):
                yield from check_line(page, test)


def _stage(part: PartResult) -> str:
    """Return what a part is paid for where no check is; empty where no stage pays."""
    paid = [note for note in part.notes if note.key == STAGE_PAID]
    return f"paid: it {one_line(str(paid[0].facts['shown']))}" if paid else ""


def _names_a_file(report: Report, part: PartResult) -> bool:
    """Return whether a file that was handed in is spoken of."""
    return any(f" {each.path} " in f" {part.message} " for each in report.files)


def _points(report: Report, part: PartResult) -> str:
    if NOT_ALL_TESTS in report.notes:
        return "-"
    if part.verdict is Verdict.JUDGE_ERROR:
        return f"- / {written(part.max_points)}"
    return f"{written(part.points)} / {written(part.max_points)}"


def _result(part: PartResult) -> str:
    told = (words_of(each) for each in causes(part) if each.verdict is part.verdict)
    words = NOT_HANDED_IN if is_missing(part) else next(told, VERDICT_WORDS[part.verdict])
    num_passed = len(passed(part))
    if part.verdict is Verdict.ACCEPTED or not part.tests:
        return words
    return f"{words} ({num_passed} of {len(part.tests)} checks passed)"


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
            f"{report.wall_time_s:.1f} s, {num_launches} launches, started {report.started_at}",
            f"submission {report.submission_digest}",
            f"grader {versions.grader}, engine {versions.engine_digest[:_DIGEST_NUM_CHARS]}, "
            f"course {versions.course} {versions.course_digest[:_DIGEST_NUM_CHARS]}, "
            f"lock {versions.lock_digest[:_DIGEST_NUM_CHARS]}, {packages}",
        ):
            yield from page.paragraph(one_line(text), first="")
