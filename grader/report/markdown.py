"""The report as Markdown for a CI summary: a table of the parts, then what each lost and why.

Every text of the report is escaped: it stays text, whatever markup or command it holds.
"""

import re
from collections.abc import Iterator, Sequence

from grader.model import ManualPart, PartResult, Report, TestResult, Verdict
from grader.points import total
from grader.report.deductions import (
    Deduction,
    command_again,
    losses,
    not_run,
    number_text,
    passed,
    points_text,
    score_sentence,
)
from grader.report.evidence import Evidence, evidence
from grader.report.safe_text import disarm, one_line

_MAX_NUM_BYTES = 900_000
"""GitHub refuses a summary of more than 1 MiB."""
_MAX_TRACEBACK_LINES = 40
_MAX_OUTPUT_LINES = 20
_MAX_OUTPUTS = 4
_TOO_LONG = "What each part lost is too long to be shown here; the other reports have all of it."
_BRIEF = (Verdict.ACCEPTED, Verdict.NOT_ATTEMPTED)
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
    parts = report.parts
    head = [
        f"## {escape(report.assignment)}: {escape(report.title)}",
        f"**{escape(score_sentence(report))}**",
        _table(parts),
    ]
    tail = [*_manual(report.manual_parts), *_notes(report), _versions(report)]
    failed = [
        block
        for part in parts
        if part.verdict not in _BRIEF
        for block in _failed_part(report, part)
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


def _table(parts: Sequence[PartResult]) -> str:
    rows = ["| | Part | Verdict | Points |", "|---|---|---|---:|"]
    for part in parts:
        sign = _SIGNS.get(part.verdict, _FAILED)
        told = f"**{escape(part.name)}** {escape(part.title)}"
        if part.verdict is Verdict.NOT_ATTEMPTED and part.message:
            told += f": {escape(part.message)}"
        rows.append(f"| {sign} | {told} | {part.verdict.value} | {_points(part)} |")
    return "\n".join(rows)


def _failed_part(report: Report, part: PartResult) -> Iterator[str]:
    """Yield the paragraphs of one part."""
    yield f"### {escape(part.name)}: {part.verdict.value}, {_points(part)}"
    found = losses(part)
    for loss in found:
        prefix = f"**{loss.verdict.value}**: " if len(found) > 1 else ""
        message, clauses = loss.told()
        yield "\n".join([prefix + escape(message), *(f"- {escape(each)}" for each in clauses)])
        if loss.meaning:
            yield loss.meaning
        if loss.tests:
            yield "\n".join(f"- {_test(test)}" for test in loss.tests)
    yield from (f"{_tests_text(loss)} {escape(loss.message)}" for loss in not_run(part))
    holding = passed(part)
    if holding:
        yield f"{_tests_text(Deduction(Verdict.ACCEPTED, '', '', tuple(holding)))} passed"
    if found:
        yield from _evidence(evidence(found[0].detail))
    yield from (f"Note: {escape(note)}" for note in part.notes)
    yield "To see it again:\n\n" + fenced([command_again(report, part)], "sh")


def _evidence(pieces: Sequence[Evidence]) -> Iterator[str]:
    outputs = [piece for piece in pieces if piece.is_output]
    for piece in [*pieces[: len(pieces) - len(outputs)], *outputs[:_MAX_OUTPUTS]]:
        kept = piece.abridged(
            num_traceback_lines=_MAX_TRACEBACK_LINES, num_output_lines=_MAX_OUTPUT_LINES
        )
        code = fenced(kept, "text")
        yield f"<details><summary>{piece.heading}</summary>\n\n{code}\n\n</details>"


def _manual(parts: Sequence[ManualPart]) -> Iterator[str]:
    if parts:
        rows = ["| Marked by a person | Found | Points pending |", "|---|---|---:|"]
        for part in parts:
            points = number_text(part.max_points)
            rows.append(f"| {escape(part.title)} | {escape(part.found)} | {points} |")
        yield "\n".join(rows)


def _notes(report: Report) -> Iterator[str]:
    if report.notes:
        yield "\n".join(f"- {escape(note)}" for note in report.notes)


def _versions(report: Report) -> str:
    submitted = _hexadecimal(report.submission_digest)
    engine, course = (
        _hexadecimal(digest)
        for digest in (report.versions.engine_digest, report.versions.course_digest)
    )
    sealed = "graded sealed" if report.is_sealed else "checked unsealed"
    recognised = " The assignment was recognised by its files." if report.is_recognised else ""
    return (
        f"Submission {escape(report.submission)}, digest `{submitted}`; "
        f"grader {escape(report.versions.grader)}, engine `{engine}`, "
        f"course {escape(report.versions.course)} `{course}`; {sealed}.{recognised}"
    )


def _points(part: PartResult) -> str:
    if part.verdict is Verdict.JUDGE_ERROR:
        return "no mark"
    return f"{number_text(part.points)} of {number_text(part.max_points)}"


def _test(test: TestResult) -> str:
    where = f" ({escape(test.where)})" if test.where else ""
    return (
        f"**{points_text(total((test.max_points, -test.points)))}** {escape(test.sentence)}{where}"
    )


def _tests_text(loss: Deduction) -> str:
    points = points_text(total(test.max_points for test in loss.tests))
    return f"{len(loss.tests)} test{'' if len(loss.tests) == 1 else 's'} ({points})"


def _hexadecimal(digest: str) -> str:
    """Return the beginning of a digest, which cannot be anything but one."""
    return "".join(char for char in digest if char in "0123456789abcdef")[:12]
