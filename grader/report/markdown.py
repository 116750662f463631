"""The report as Markdown for a CI summary: what was lost and why, then a table of the parts.

Every text of the report is escaped: it stays text, whatever markup or command it holds.
"""

import re
from collections.abc import Iterator, Sequence

from grader.model.points import written
from grader.model.report import ManualPart, PartResult, Report, TestResult, Verdict
from grader.report.causes import Cause, dearest_first, is_missing
from grader.report.page import Page
from grader.report.quotes import code_lines, evidence
from grader.report.safe_text import disarm, one_line
from grader.report.words import (
    NOT_HANDED_IN,
    VERDICT_WORDS,
    again,
    blocked_text,
    check_points,
    headline,
    helps_of,
    part_points,
    price_of,
    score_sentence,
    seen_text,
    told_text,
    words_of,
)

_MAX_NUM_BYTES = 900_000
"""GitHub refuses a summary of more than 1 MiB."""
_MAX_TRACEBACK_LINES = 40
_MAX_OUTPUT_LINES = 20
_MAX_OUTPUTS = 4
_TOO_LONG = "What each part lost is too long to show here; the other reports have all of it."
_CODE_NUM_COLUMNS = 100
_MARKUP = re.compile(r"([\\`*_\[\](){}<>|~&:$#!.+=^/-])")
_REFERENCE = re.compile(r"((?:://|[@#!$%~&^]*@[@#!$%~&^]*|[#!$%~&^]+(?=\w)|(?<=\bGH)-(?=\d))+)")
"""What GitHub and GitLab make links and mentions of once the Markdown is HTML: an address, `@name`,
`#1`, `GH-1`, `!1`, `$1`, `%1`, `~name`, `&1`, `^alert#1`."""
_BACKTICKS = re.compile(r"`+")
_SIGNS = {
    Verdict.ACCEPTED: "✅",
    Verdict.SKIPPED: "⏭️",
    Verdict.NOT_ATTEMPTED: "⚪",
    Verdict.NOT_PROVEN: "❔",
    Verdict.JUDGE_ERROR: "⚠️",
}
_FAILED = "❌"


def render(report: Report) -> str:
    """Return the report as Markdown; the table alone where all of it is too long for a summary."""
    head = [
        f"## {escape(report.assignment)}: {escape(report.title)}",
        f"**{escape(score_sentence(report))}**",
    ]
    tail = [_table(report), *_manual(report.manual_parts), *_notes(report), _versions(report)]
    failed = [
        block
        for part, cause in dearest_first(report)
        if not is_missing(part)
        for block in _cause(report, part, cause)
    ]
    text = "\n\n".join([*head, *failed, *tail])
    if len(text.encode()) > _MAX_NUM_BYTES:
        return "\n\n".join([*head, _TOO_LONG, *tail])
    return text


def escape(text: str) -> str:
    """Return a sentence as Markdown that shows it as it is, in one line.

    What begins a reference goes into a code span: a backslash before it is gone when it is looked
    for.
    """
    pieces = _REFERENCE.split(one_line(text))
    pieces[::2] = [_MARKUP.sub(r"\\\1", piece) for piece in pieces[::2]]
    pieces[1::2] = [f"`{piece}`" for piece in pieces[1::2]]
    return "".join(pieces)


def fenced(lines: Sequence[str], language: str) -> str:
    """Return visible lines as a code block that none of them can close."""
    longest = max((len(run) for line in lines for run in _BACKTICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *map(disarm, lines), fence])


def _table(report: Report) -> str:
    rows = ["| | Part | Result | Points |", "|---|---|---|---:|"]
    for part in report.parts:
        sign = _SIGNS.get(part.verdict, _FAILED)
        told = f"**{escape(part.name)}** {escape(part.title)}"
        if is_missing(part):
            told += f": {escape(part.message)}"
        words = NOT_HANDED_IN if is_missing(part) else VERDICT_WORDS[part.verdict]
        rows.append(f"| {sign} | {told} | {words} | {part_points(report, part)} |")
    return "\n".join(rows)


def _cause(report: Report, part: PartResult, cause: Cause) -> Iterator[str]:
    """Yield the paragraphs of one cause."""
    yield f"### {escape(part.name)}: {words_of(cause)}, {price_of(report, part, cause)}"
    yield f"**{escape(headline(cause))}**"
    plain = Page(colour=False, plain=True, width=_CODE_NUM_COLUMNS, verbose=False)
    if lines := code_lines(plain, cause.excerpts, told_text(cause)):
        yield fenced(lines, "text")
    yield from (f"Help: {escape(helps)}" for helps in helps_of(cause))
    if seen := seen_text(cause):
        yield escape(seen)
    if cause.tests:
        yield "\n".join(f"- {_test(test)}" for test in cause.tests)
    if cause.blocked:
        yield escape(blocked_text(cause))
    yield fenced([again(report, part, cause)], "sh")
    if more := [f"- {escape(each.text)}" for each in cause.findings[1:]]:
        yield _folded("what else was seen", "\n".join(more))
    for piece in evidence(cause.detail, _MAX_OUTPUTS):
        kept = piece.abridged(
            num_traceback_lines=_MAX_TRACEBACK_LINES, num_output_lines=_MAX_OUTPUT_LINES
        )
        yield _folded(piece.heading, fenced(kept, "text"))


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def _manual(parts: Sequence[ManualPart]) -> Iterator[str]:
    if parts:
        rows = ["| Graded by hand | Found | Points |", "|---|---|---:|"]
        for part in parts:
            points = written(part.max_points)
            rows.append(f"| {escape(part.title)} | {escape(part.found)} | {points} |")
        yield "\n".join(rows)


def _notes(report: Report) -> Iterator[str]:
    notes = [f"{part.name}: {note}" for part in report.parts for note in part.notes]
    if told := [f"- {escape(note)}" for note in (*notes, *report.notes)]:
        yield "\n".join(told)


def _versions(report: Report) -> str:
    versions = report.versions
    digests = (report.submission_digest, versions.engine_digest, versions.course_digest)
    submitted, engine, course = map(_hexadecimal, digests)
    sealed = "graded sealed" if report.is_sealed else "checked unsealed"
    return (
        f"Submission {escape(report.submission)}, digest `{submitted}`; "
        f"grader {escape(versions.grader)}, engine `{engine}`, "
        f"course {escape(versions.course)} `{course}`; {sealed}."
    )


def _test(test: TestResult) -> str:
    where = f" ({escape(test.where)})" if test.where else ""
    return f"**{check_points(test)}** {escape(test.sentence)}{where}"


def _hexadecimal(digest: str) -> str:
    """Return the beginning of a digest, which cannot be anything but one."""
    return "".join(char for char in digest if char in "0123456789abcdef")[:12]
