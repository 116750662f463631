"""Tells code with a TODO left, whose own calls came before it, from code that nobody has begun."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from grader.judge.explanation.launch_result import LaunchResult
from grader.model.finding import Finding
from grader.model.report import RunFailure, Verdict
from grader.trace.calls import Call, Trace
from grader.trace.functions import COLLECTIVES


def told_as_begun(
    launched: LaunchResult, own: Mapping[str, bytes], template: Path | None
) -> LaunchResult:
    """Return a launch that ended at a TODO as a crash, where lines of the student's own had called.

    A crash ends one case, and what nobody has begun ends the part. own: by path, what the student
    handed in. template: what students start from, whose calls do not count.
    """
    failure, attempt = launched.failure, launched.unfinished
    if failure is None or attempt is None or failure.verdict is not Verdict.NOT_ATTEMPTED:
        return launched
    if not _has_begun(attempt.trace, own, _lines_of(template)):
        return launched
    failure = as_crash(failure)
    return replace(launched, failure=failure, unfinished=replace(attempt, failure=failure))


def as_crash(failure: RunFailure) -> RunFailure:
    """Return an end at a TODO as a crash, which ends one case only."""
    found = at_a_todo(failure.findings)
    return replace(failure, verdict=Verdict.RUN_TIME_ERROR, findings=found, is_lasting=False)


def at_a_todo(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return what was found of code that nobody has begun, as of code that was."""
    return tuple(
        Finding("crash.todo_left", each.text, each.facts) if each.key == "not_attempted" else each
        for each in findings
    )


def _lines_of(template: Path | None) -> frozenset[bytes]:
    files = sorted(template.rglob("*.py")) if template is not None else []
    return frozenset(line.strip() for file in files for line in file.read_bytes().splitlines())


def _has_begun(trace: Trace, own: Mapping[str, bytes], given: frozenset[bytes]) -> bool:
    by_name: dict[str, list[list[bytes]]] = {}
    for path, source in own.items():
        by_name.setdefault(_name(path), []).append(source.splitlines())

    def is_own(call: Call) -> bool:
        files = by_name.get(_name(call.file), [])
        lines = (file[call.line - 1] for file in files if 0 < call.line <= len(file))
        return any(line.strip() not in given for line in lines)

    return any(
        is_own(call)
        for rank in trace.ranks
        for call in rank.calls
        if call.is_send or call.is_receive or call.function in COLLECTIVES
    )


def _name(path: str) -> str:
    return path.rpartition("/")[2]
