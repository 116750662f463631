"""Gathers what is to be shown of the case that decided a test."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.grading_plugin.case import Case
from grader.grading_plugin.launch_results import RunFailed
from grader.grading_plugin.relaunch import Answer, ranks_text
from grader.grading_plugin.source_excerpts import source_excerpts
from grader.judge.explanation.timeline import edges_of, timeline_of
from grader.model.evidence import Evidence
from grader.model.report import Outcome, TestResult, Verdict

_FEWEST_RANKS = 2
"""Of a case with communication."""
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
        return f"{ranks_text(self.ranks)}, {self.case.label}"


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
        if not self._is_kept or not seen or seen[-1].ranks < _FEWEST_RANKS:
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
    result: TestResult,
    error: BaseException,
    seen: Sequence[SeenCase],
    sources: Mapping[str, bytes],
) -> Evidence | None:
    """Return what is to be shown of a test that failed; None where nothing is.

    error: what it raised. seen: the cases it has looked at, in order. sources: by path, what the
    student handed in, of which the lines are shown that the result names.
    """
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
