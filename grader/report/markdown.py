"""The report as Markdown for a CI summary: what was lost and why, then a table of the parts.

Every text of the report is escaped: it stays text, whatever markup or command it holds.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader.model.points import written
from grader.model.report import Report, Verdict
from grader.report import words
from grader.report.causes import costliest_first, is_missing
from grader.report.quotes import code_lines, evidence
from grader.report.safe_text import disarm, one_line
from grader.report.terminal_page import Page

if TYPE_CHECKING:
    from jinja2 import Environment

_MAX_NUM_BYTES = 900_000
"""GitHub refuses a summary of more than 1 MiB."""
_MAX_TRACEBACK_LINES = 40
_MAX_OUTPUT_LINES = 20
_MAX_OUTPUTS = 4
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
    notes = [f"{part.name}: {note}" for part in report.parts for note in part.further_notes]
    values = {
        "report": report,
        "found": [each for each in costliest_first(report) if not is_missing(each[0])],
        "notes": [*notes, *report.notes],
        "page": Page(colour=False, plain=True, width=_CODE_NUM_COLUMNS, verbose=False),
        "most_outputs": _MAX_OUTPUTS,
        "abridged": lambda piece: piece.abridged(
            num_traceback_lines=_MAX_TRACEBACK_LINES, num_output_lines=_MAX_OUTPUT_LINES
        ),
        "sign": lambda part: _SIGNS.get(part.verdict, _FAILED),
        # The beginning of a digest, which cannot be anything but one.
        "digest": lambda digest: "".join(re.findall("[0-9a-f]", digest))[:12],
    }
    functions = (code_lines, evidence, fenced, is_missing, written)
    values |= {each.__name__: each for each in functions}
    template = environment(Path(__file__).parent, escape).get_template("markdown.jinja")
    text = template.render(values, words=words, is_whole=True)
    if len(text.encode()) > _MAX_NUM_BYTES:
        text = template.render(values, words=words, is_whole=False)
    return text


@cache
def environment(folder: Path, escape: Callable[[str], str]) -> "Environment":
    """Return what fills in templates of Markdown; `escape` gets every text but what is `raw`."""
    # Imported here, because most commands show no page.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(  # noqa: S701 - `finalize` escapes
        finalize=lambda value: value if isinstance(value, Markup) else escape(str(value)),
        loader=FileSystemLoader(folder),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters["raw"] = Markup
    return made


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
