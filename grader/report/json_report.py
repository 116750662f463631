"""The report as JSON: what docs/json.md specifies and report.schema.json holds it to.

What differs between two gradings of the same submission lies under keys named `measured` alone.
The text is ASCII and escapes what a web page or a CI runner would look for, so that no viewer
obeys what a submission put in.
"""

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any

import msgspec

from grader.model.errors import GraderError
from grader.model.finding import Finding
from grader.model.report import PartResult, Report, TestResult
from grader.report.safe_text import dump, number, one_line
from grader.report.words import worst_verdict

SCHEMA_VERSION = 12
_OLDEST_VERSION = 7
"""From which on reports are read. What a later version has added is empty where it is missing."""
_UNREADABLE = "the grading produced an unreadable report"


class OtherSchemaVersionError(GraderError):
    """A report of another schema version than this grader reads."""


def render(report: Report) -> str:
    """Return the report as JSON; the keys always come in the same order."""
    return dump(_report(report))


def parse(text: str | bytes) -> Report:
    """Return the report that `render` wrote, when the grading ran in a container.

    Raises GraderError when the text is anything else, OtherSchemaVersionError for another version.
    """
    return _parse(text, SCHEMA_VERSION)


def parse_saved(text: str | bytes) -> Report:
    """Return the report that `render` of this or an earlier release wrote; raises as `parse`."""
    return _parse(text, _OLDEST_VERSION)


def _parse(text: str | bytes, oldest_version: int) -> Report:
    try:
        data = json.loads(text)
        if not isinstance(data, dict):
            raise TypeError("it is not a JSON object")
        version = data["schema_version"]
        if version not in range(oldest_version, SCHEMA_VERSION + 1):
            raise OtherSchemaVersionError(
                f"the report has schema_version {version!r:.20}, but this grader reads "
                f"{'' if oldest_version == SCHEMA_VERSION else f'{oldest_version} to '}"
                f"{SCHEMA_VERSION}; use an image and a grader of the same release"
            )
        report = msgspec.convert(_as_nouns(data), Report)
        priced: list[PartResult | TestResult] = [*report.parts]
        priced += (test for part in report.parts for test in part.tests)
        numbers = [number for each in priced for number in (each.points, each.max_points)]
        numbers += (part.max_points for part in report.manual_parts)
        if not all(0 <= number < math.inf for number in numbers):
            raise ValueError("some points are negative or not finite")
        if version == SCHEMA_VERSION and json.loads(render(report)) != data:
            raise ValueError("its keys or sums are wrong")
    except KeyError as error:
        raise GraderError(f"{_UNREADABLE}: it has no {error}") from None
    except (OverflowError, RecursionError, TypeError, ValueError) as error:
        raise GraderError(f"{_UNREADABLE}: {one_line(str(error), 200)}") from None
    return report


def _as_nouns(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the data of a report with what was measured beside the rest, as Report has it."""
    parts = [
        {
            **part,
            **_measured(part, "wall_time_s", "num_launches"),
            # They were texts up to version 9.
            "notes": [
                {"key": "", "text": note} if isinstance(note, str) else note
                for note in part["notes"]
            ],
            "tests": [{**test, **_measured(test, "evidence")} for test in part["tests"]],
        }
        for part in data["parts"]
    ]
    return {**data, **_measured(data, "started_at", "wall_time_s", "seed"), "parts": parts}


def _measured(data: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return {name: data["measured"][name] for name in names if name in data["measured"]}


def _report(report: Report) -> dict[str, Any]:
    about = ("assignment", "title", "is_recognised", "submission", "submission_digest", "mode")
    return {
        "schema_version": SCHEMA_VERSION,
        **_fields(report, *about),
        "score": None if report.score is None else number(report.score, 6),
        "max_score": number(report.max_score, 6),
        "pending_points": number(report.pending_points, 6),
        "verdict": worst_verdict(report),
        **_fields(report, "review", "exit_code"),
        "parts": [_part(part) for part in report.parts],
        **_fields(report, "manual_parts", "mark", "notes", "files", "versions"),
        "measured": {
            "started_at": report.started_at,
            "wall_time_s": round(report.wall_time_s, 3),
            "seed": report.seed,
        },
    }


def _part(part: PartResult) -> dict[str, Any]:
    priced = ("verdict", "points", "max_points", "message")
    told = ("detail", "where", "case", "findings", "blocked_by", "is_hidden", "feedback")
    return {
        **_fields(part, "name", "title", *priced),
        "tests": [
            {
                **_fields(test, "name", "sentence", *priced, *told),
                "measured": _fields(test, "evidence"),
            }
            for test in part.tests
        ],
        **_fields(part, "notes"),
        "measured": {"wall_time_s": round(part.wall_time_s, 3), "num_launches": part.num_launches},
    }


def _fields(noun: Any, *names: str) -> dict[str, Any]:
    values = ((name, getattr(noun, name)) for name in names)
    return {
        name: number(value) if name in ("points", "max_points") else _plain(value)
        for name, value in values
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Finding):
        facts = {name: _fact(each) for name, each in sorted(value.facts.items())}
        return {**_fields(value, "key", "text", "help"), "facts": facts}
    if dataclasses.is_dataclass(value):
        return _fields(value, *(field.name for field in dataclasses.fields(value)))
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in sorted(value.items())}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


def _fact(value: Any) -> Any:
    """Return a fact as JSON has it: `nan` and `inf` as text."""
    if isinstance(value, tuple):
        return [_fact(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
