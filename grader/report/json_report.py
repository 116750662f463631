"""The report as JSON: what docs/json.md specifies and report.schema.json holds it to.

What differs between two gradings of the same submission lies under keys named `measured` alone.
The text is ASCII and escapes what a web page or a CI runner would look for, so that no viewer
obeys what a submission put in.
"""

import dataclasses
import json
import math
from collections.abc import Callable
from typing import Any

from grader.errors import GraderError
from grader.finding import Fact, Finding
from grader.model import PartResult, Report
from grader.report import reading
from grader.report.earlier_versions import upgraded
from grader.report.json_text import dump
from grader.report.json_text import number as _number
from grader.report.json_text import valid as _text
from grader.report.safe_text import one_line
from grader.report.totals import worst_verdict

SCHEMA_VERSION = 10
_UNREADABLE = "the grading gave a report that cannot be read"


class OtherSchemaVersionError(GraderError):
    """A report of another schema version than this grader reads."""


def render(report: Report) -> str:
    """Return the report as JSON; the keys always come in the same order."""
    return dump(_report(report))


def parse(text: str | bytes) -> Report:
    """Return the report that `render` wrote, when the grading ran in a container.

    Raises GraderError when the text is anything else, OtherSchemaVersionError for another version.
    """
    return _parse(text, lambda data: data)


def parse_saved(text: str | bytes) -> Report:
    """Return the report that `render` of this or an earlier release wrote; raises as `parse`."""
    return _parse(text, lambda data: upgraded(data, SCHEMA_VERSION))


def _parse(text: str | bytes, prepared: Callable[[Any], Any]) -> Report:
    try:
        data = prepared(json.loads(text))
        _refuse_other_versions(data)
        report = reading.report(data)
        if _report(report) != data:
            raise ValueError("it has keys or sums that do not belong there")
    except KeyError as error:
        raise GraderError(f"{_UNREADABLE}: it has no {error}") from None
    except (AttributeError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise GraderError(f"{_UNREADABLE}: {one_line(str(error), 200)}") from None
    return report


def _refuse_other_versions(data: Any) -> None:
    if not isinstance(data, dict):
        raise TypeError("it is no JSON object")
    version = data.get("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise OtherSchemaVersionError(
            f"the report has schema_version {version!r:.20}, this grader reads {SCHEMA_VERSION}; "
            "take the image and the grader of one release"
        )


def _report(report: Report) -> dict[str, Any]:
    versions = report.versions
    return {
        "schema_version": SCHEMA_VERSION,
        "assignment": _text(report.assignment),
        "title": _text(report.title),
        "is_recognised": report.is_recognised,
        "submission": _text(report.submission),
        "submission_digest": report.submission_digest,
        "mode": report.mode,
        "score": None if report.score is None else _number(report.score, 6),
        "max_score": _number(report.max_score, 6),
        "pending_points": _number(report.pending_points, 6),
        "verdict": worst_verdict(report).value,
        "review": report.review,
        "exit_code": report.exit_code,
        "parts": [_part(part) for part in report.parts],
        "manual_parts": [
            {
                "name": part.name,
                "title": _text(part.title),
                "max_points": _number(part.max_points),
                "found": _text(part.found),
            }
            for part in report.manual_parts
        ],
        "notes": [_text(note) for note in report.notes],
        "files": [
            {
                "path": _text(each.path),
                "file": _text(each.file),
                "is_graded": each.is_graded,
                "why": _text(each.why),
            }
            for each in report.files
        ],
        "versions": {
            "grader": versions.grader,
            "engine_digest": versions.engine_digest,
            "course": _text(versions.course),
            "course_digest": versions.course_digest,
            "lock_digest": versions.lock_digest,
            "packages": dict(sorted(versions.packages.items())),
        },
        "measured": {
            "started_at": report.started_at,
            "wall_time_s": round(report.wall_time_s, 3),
        },
    }


def _part(part: PartResult) -> dict[str, Any]:
    return {
        "name": part.name,
        "title": _text(part.title),
        "verdict": part.verdict.value,
        "points": _number(part.points),
        "max_points": _number(part.max_points),
        "message": _text(part.message),
        "tests": [
            {
                "name": test.name,
                "sentence": _text(test.sentence),
                "verdict": test.verdict.value,
                "points": _number(test.points),
                "max_points": _number(test.max_points),
                "message": _text(test.message),
                "detail": _text(test.detail),
                "where": _text(test.where),
                "case": _text(test.case),
                "findings": [_finding(each) for each in test.findings],
                "blocked_by": list(test.blocked_by),
                "is_hidden": test.is_hidden,
                "feedback": test.feedback.value,
                "measured": {
                    "evidence": None if test.evidence is None else _plain(test.evidence),
                },
            }
            for test in part.tests
        ],
        "notes": [_finding(note) for note in part.notes],
        "measured": {
            "wall_time_s": round(part.wall_time_s, 3),
            "num_launches": part.num_launches,
        },
    }


def _finding(found: Finding) -> dict[str, Any]:
    return {
        "key": found.key,
        "text": _text(found.text),
        "help": _text(found.help),
        "facts": {name: _fact(value) for name, value in sorted(found.facts.items())},
    }


def _fact(value: Fact) -> Any:
    """Return a fact as JSON has it; what is no number there becomes a text."""
    if isinstance(value, tuple):
        return [_fact(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return _text(value) if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    """Return dataclasses as objects and tuples as lists, as JSON has them."""
    if dataclasses.is_dataclass(value):
        return {
            field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return _text(value) if isinstance(value, str) else value
