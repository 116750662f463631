"""Reads the nouns of a report back from JSON data that another process wrote."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from grader.evidence import Evidence
from grader.feedback import Feedback
from grader.finding import Finding
from grader.model import HandedInFile, ManualPart, PartResult, Report, TestResult, Verdict, Versions

Kind = TypeVar("Kind")
Data = Mapping[str, Any]


def report(data: Data) -> Report:
    """Return the report; what is derived from it is not read.

    Raises KeyError, TypeError or ValueError where the data is not that of a report.
    """
    measured = _get(data, "measured", dict)
    return Report(
        assignment=_get(data, "assignment", str),
        title=_get(data, "title", str),
        submission=_get(data, "submission", str),
        submission_digest=_get(data, "submission_digest", str),
        mode=_get(data, "mode", str),
        parts=tuple(_part(each) for each in _get(data, "parts", list)),
        manual_parts=tuple(_manual_part(each) for each in _get(data, "manual_parts", list)),
        versions=_versions(_get(data, "versions", dict)),
        wall_time_s=_number(measured, "wall_time_s"),
        started_at=_get(measured, "started_at", str),
        notes=_texts(data, "notes"),
        files=tuple(_handed_in(each) for each in _get(data, "files", list)),
        is_recognised=_get(data, "is_recognised", bool),
    )


def _handed_in(data: Data) -> HandedInFile:
    return HandedInFile(
        path=_get(data, "path", str),
        file=_get(data, "file", str),
        is_graded=_get(data, "is_graded", bool),
        why=_get(data, "why", str),
    )


def _part(data: Data) -> PartResult:
    measured = _get(data, "measured", dict)
    return PartResult(
        name=_get(data, "name", str),
        title=_get(data, "title", str),
        verdict=Verdict(_get(data, "verdict", str)),
        points=_number(data, "points"),
        max_points=_number(data, "max_points"),
        message=_get(data, "message", str),
        tests=tuple(_test(each) for each in _get(data, "tests", list)),
        notes=_findings(data, "notes"),
        wall_time_s=_number(measured, "wall_time_s"),
        num_launches=_get(measured, "num_launches", int),
    )


def _test(data: Data) -> TestResult:
    return TestResult(
        name=_get(data, "name", str),
        sentence=_get(data, "sentence", str),
        verdict=Verdict(_get(data, "verdict", str)),
        points=_number(data, "points"),
        max_points=_number(data, "max_points"),
        message=_get(data, "message", str),
        detail=_get(data, "detail", str),
        where=_get(data, "where", str),
        case=_get(data, "case", str),
        findings=_findings(data, "findings"),
        blocked_by=_texts(data, "blocked_by"),
        is_hidden=_get(data, "is_hidden", bool),
        feedback=Feedback(_get(data, "feedback", str)),
        evidence=_evidence(_get(data, "measured", dict)["evidence"]),
    )


def _evidence(data: Any) -> Evidence | None:
    """Return what was seen; its keys and types are those of the dataclasses."""
    return None if data is None else msgspec.convert(data, Evidence)


def _manual_part(data: Data) -> ManualPart:
    return ManualPart(
        name=_get(data, "name", str),
        title=_get(data, "title", str),
        max_points=_number(data, "max_points"),
        found=_get(data, "found", str),
    )


def _versions(data: Data) -> Versions:
    packages = _get(data, "packages", dict)
    return Versions(
        grader=_get(data, "grader", str),
        engine_digest=_get(data, "engine_digest", str),
        course=_get(data, "course", str),
        course_digest=_get(data, "course_digest", str),
        lock_digest=_get(data, "lock_digest", str),
        packages={name: _get(packages, name, str) for name in packages},
    )


def _findings(data: Data, key: str) -> tuple[Finding, ...]:
    return msgspec.convert(_get(data, key, list), tuple[Finding, ...])


def _texts(data: Data, key: str) -> tuple[str, ...]:
    texts = _get(data, key, list)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"{key} holds something that is no text")
    return tuple(texts)


def _number(data: Data, key: str) -> float:
    value = data[key]
    if type(value) not in (int, float) or not 0 <= value < float("inf"):
        raise TypeError(f"{key} is {value!r:.40}; expected a number that is not negative")
    return float(value)


def _get(data: Data, key: str, kind: type[Kind]) -> Kind:
    if not isinstance(data, dict):
        raise TypeError(f"{data!r:.40} stands where an object with {key} is expected")
    value = data[key]
    if type(value) is not kind:
        raise TypeError(f"{key} is {value!r:.40}; expected {kind.__name__}")
    return value
