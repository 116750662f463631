"""Gathers what is to be shown of the case that decided a test."""

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from grader.grading_plugin.case import Case
from grader.grading_plugin.launch_results import RunFailed
from grader.grading_plugin.relaunch import Answer
from grader.judge.explanation.timeline import edges_of, timeline_of
from grader.model.evidence import FEWEST_RANKS, Evidence, MarkedLine, PlaceNote, SourceExcerpt
from grader.model.finding import Finding
from grader.model.plural import counted
from grader.model.report import Outcome, TestResult, Verdict

_MOST_SHOWN = 4
"""Failed tests of a part with evidence of their own."""


@dataclass(frozen=True)
class SeenCase:
    """A case that a test has looked at."""

    ranks: int
    case: Case
    answer: Answer

    @property
    def words(self) -> str:
        """Return what a message about it begins with."""
        return f"{counted(self.ranks, 'rank')}, {self.case.label}"


class EvidenceCollector:
    """What the tests of one part have looked at, and which of it is to be shown."""

    def __init__(self, sources: Mapping[str, bytes], *, is_kept: bool) -> None:
        """sources: by path, what the student handed in. is_kept: not for hidden tests."""
        self._sources = sources
        self._is_kept = is_kept
        self._seen: list[SeenCase] = []
        """By the parameter of a test that is in progress."""
        self._shown: set[str] = set()
        """The messages of failed tests whose case is shown."""
        self._success: tuple[str, Evidence] | None = None
        """The first test that held and whose ranks have called anything, with its last case."""

    def looks_at(self, ranks: int, case: Case, answer: Answer) -> None:
        """Remember a case that the test in progress looks at."""
        self._seen.append(SeenCase(ranks, case, answer))

    def end_parameter(self, name: str) -> None:
        """Forget what was looked at, but for the first test that has something to show."""
        seen, self._seen = self._seen, []
        if not self._is_kept or not seen or seen[-1].ranks < FEWEST_RANKS:
            return
        if seen[-1].case.message_fault is not None:
            return
        if self._success is None or self._success[0] == name:
            found = of_case(seen[-1])
            if found.timeline.spans:
                self._success = name, found

    def with_failure(self, result: TestResult, error: BaseException) -> TestResult:
        """Return the result with what is to be shown of it; the same message is shown once."""
        if not self._is_kept or result.message in self._shown or len(self._shown) >= _MOST_SHOWN:
            return result
        evidence = of_failure(result, error, self._seen, self._sources)
        if evidence is not None:
            self._shown.add(result.message)
        return replace(result, evidence=evidence)

    def with_success(self, result: TestResult) -> TestResult:
        """Return the result with its last case, for the first test that has one to show."""
        if self._success is None or self._success[0] != result.name:
            return result
        return replace(result, evidence=self._success[1])


def of_failure(
    result: TestResult, error: BaseException, seen: Sequence[SeenCase], sources: Mapping[str, bytes]
) -> Evidence | None:
    """Return what is to be shown of a test that failed with this error; None where nothing is."""
    if result.verdict in (Verdict.SKIPPED, Verdict.JUDGE_ERROR):
        return None
    if isinstance(error, RunFailed):
        found = error.failure.evidence or Evidence("", 0)
    else:
        # Not within a longer number: `4 ranks` is no part of `14 ranks`.
        named = [
            each for each in seen if re.search(rf"(?<!\w){re.escape(each.words)}", result.message)
        ]
        found = of_case((named or seen)[-1]) if seen else Evidence("", 0)
    found = replace(
        found,
        differences=_first_attribute(error, "differences"),
        budgets=_first_attribute(error, "budgets"),
        excerpts=source_excerpts(
            sources,
            result.message.removeprefix(f"{found.case}: "),
            result.detail,
            found.deadlock.notes if found.deadlock is not None else (),
            result.findings,
        ),
    )
    return None if found == Evidence(found.case, found.num_ranks) else found


def of_case(seen: SeenCase) -> Evidence:
    """Return the communication of one case."""
    found = Evidence(seen.words, seen.ranks)
    if not isinstance(seen.answer, Outcome):
        return found
    trace = seen.answer.trace
    return replace(found, edges=edges_of(trace), timeline=timeline_of(trace))


def _first_attribute(error: BaseException, name: str) -> tuple[Any, ...]:
    """Return what an exception carries, or the first of those that it was raised for."""
    for each in _chain(error):
        if found := getattr(each, name, ()):
            return tuple(found)
    return ()


def _chain(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__


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
    """Return the places in a sentence, each with the clause that names it, but for its case."""
    return [
        (match[1], int(match[2]), clause.rpartition("deadlock: ")[2].strip()[:_MOST_FINDING_CHARS])
        for clause in _CLAUSE_END.split(message)
        for match in _PLACE.finditer(clause)
    ]


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
