"""Cuts out the lines of a submission that a finding names, each with the finding beside it."""

import keyword
import re
from collections.abc import Mapping, Sequence
from itertools import chain

from grader.model.evidence import MarkedLine, PlaceNote, SourceExcerpt
from grader.model.finding import Finding

_PLACE = re.compile(r"([\w.-]{1,100}\.py):(\d{1,7})\b")
_IN_TRACEBACK = re.compile(r'File "(?:[^"\n]{0,300}/)?([\w.-]{1,100}\.py)", line (\d{1,7})\b')
_QUOTED = re.compile(r"['`]([A-Za-z_]\w*)['`]|\b([A-Za-z_]\w*)\(")
"""A name in quotes, or one that is called."""
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_CALL = re.compile(r"[A-Za-z_][\w.]*(?=\()")
_CLAUSE_END = re.compile(r"; |\n")
_NUM_AROUND = 3
_MOST_FINDINGS = 6
_MOST_LINE_CHARS = 200
_MOST_FINDING_CHARS = 300
_RAISED = "raised here"


def source_excerpts(
    sources: Mapping[str, bytes],
    message: str,
    detail: str,
    notes: Sequence[PlaceNote] = (),
    found: Sequence[Finding] = (),
) -> tuple[SourceExcerpt, ...]:
    """Return the lines that notes, a message and a traceback name, with three lines around each.

    sources: by path, what was handed in; places of other files are left out, and so are those of a
    name that several folders have. Of many places the first six count. found: whose facts say
    which columns of their line raised something.
    """
    by_name: dict[str, list[str]] = {}
    for path in sources:
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    findings: dict[tuple[str, int], str] = {}
    for name, line, finding in [*_noted(notes), *_named(message), *_traced(detail)]:
        paths = by_name.get(name, [])
        if len(paths) == 1 and len(findings) < _MOST_FINDINGS:
            findings.setdefault((paths[0], line), finding)
    return tuple(
        excerpt
        for path in dict.fromkeys(path for path, _ in findings)
        if (excerpt := _excerpt(path, sources[path], findings, message, found)) is not None
    )


def _noted(notes: Sequence[PlaceNote]) -> list[tuple[str, int, str]]:
    """Return the places of notes; those of one line together."""
    texts: dict[str, list[str]] = {}
    for note in notes:
        texts.setdefault(note.place, []).append(note.text)
    places = ((_PLACE.fullmatch(place), "; ".join(told)) for place, told in texts.items())
    return [(match[1], int(match[2]), told) for match, told in places if match]


def _named(message: str) -> list[tuple[str, int, str]]:
    """Return the places in a sentence, each with the clause that names it."""
    return [
        (match[1], int(match[2]), _finding(clause))
        for clause in _CLAUSE_END.split(message)
        for match in _PLACE.finditer(clause)
    ]


def _finding(clause: str) -> str:
    """Return what a clause says of its place, without the case and the word that begin it."""
    return clause.rpartition("deadlock: ")[2].strip()[:_MOST_FINDING_CHARS]


def _traced(detail: str) -> list[tuple[str, int, str]]:
    """Return the places in a traceback, the innermost first."""
    before_output = detail.partition("last output of rank ")[0]
    found = [(match[1], int(match[2])) for match in _IN_TRACEBACK.finditer(before_output)]
    return [
        (name, line, _RAISED if index == 0 else "called from here")
        for index, (name, line) in enumerate(reversed(found))
    ]


def _excerpt(
    path: str,
    source: bytes,
    findings: Mapping[tuple[str, int], str],
    message: str,
    found: Sequence[Finding],
) -> SourceExcerpt | None:
    # Those of bytes end where Python's do; those of a text end at a form feed, too.
    lines = [line.decode("utf-8", "replace") for line in source.splitlines()]
    marked: Sequence[int] = [line for file, line in findings if file == path]
    shown = sorted(
        {
            near
            for line in marked
            if 0 < line <= len(lines)
            for near in range(max(1, line - _NUM_AROUND), min(len(lines), line + _NUM_AROUND) + 1)
        }
    )
    if not shown:
        return None
    return SourceExcerpt(
        path,
        tuple(
            _marked(
                line,
                lines[line - 1],
                findings.get((path, line), ""),
                message,
                _at(path, line, found),
            )
            for line in shown
        ),
    )


def _at(path: str, line: int, found: Sequence[Finding]) -> tuple[int, int] | None:
    """Return which columns of a line raised something, as far as that is known."""
    for each in found:
        column, num_columns = each.facts.get("column"), each.facts.get("num_columns")
        if each.places == (f"{path}:{line}",) and type(column) is int and type(num_columns) is int:
            return (column, num_columns) if column > 0 < num_columns else None
    return None


def _marked(
    line: int, text: str, finding: str, message: str, columns: tuple[int, int] | None
) -> MarkedLine:
    text = text[:_MOST_LINE_CHARS]
    column, num_columns = columns or _columns(text, message if finding == _RAISED else finding)
    if column > len(text) + 1:
        column, num_columns = 0, 0
    return MarkedLine(line, text, finding, *((column, num_columns) if finding else (0, 0)))


def _columns(text: str, finding: str) -> tuple[int, int]:
    """Return where the name that a finding quotes or calls stands, else the line's first call.

    The first column, from 1, and how many there are; (0, 0) for the whole line. Nothing parses
    what was handed in: a tree takes many times as much memory, and deep ones crash Python.
    """
    words = {word for pair in _QUOTED.findall(finding) for word in pair if word}
    named = (each for each in _NAME.finditer(text) if each[0].rpartition(".")[2] in words)
    called = (each for each in _CALL.finditer(text) if each[0] not in keyword.kwlist)
    found = next(chain(named, called), None)
    return (0, 0) if found is None else (found.start() + 1, len(found[0]))
