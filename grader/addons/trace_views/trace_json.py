"""What `grade trace` has seen as JSON: what trace.schema.json specifies."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from grader.addons.trace_views.trace_rows import (
    Communicator,
    Row,
    collectives_of,
    communicators_of,
    edges_of,
    figures_of,
    rows_of,
)
from grader.addons.trace_views.tracing import Traced, TracedCase
from grader.report.safe_text import dump
from grader.trace.calls import NO_PEER

SCHEMA_VERSION = 1


def trace_json(traced: Traced) -> str:
    """Return the chosen case with all its calls, and the other cases without theirs."""
    trace = traced.trace
    rows = [rows_of(rank, seen, traced.chosen.began_ns) for rank, seen in enumerate(trace.ranks)]
    known = communicators_of(rows)
    figures = figures_of(trace, rows)
    return dump(
        {
            "schema_version": SCHEMA_VERSION,
            "assignment": traced.assignment,
            "part": traced.part,
            "submission": traced.submission,
            "tests": [
                {"name": test.name, "verdict": test.verdict, "message": test.message}
                for test in traced.tests
            ],
            "cases": [_case(case) for case in traced.cases],
            "case": traced.chosen.number,
            "communicators": [asdict(each) for each in known.values()],
            "ranks": [
                {
                    "rank": rank,
                    "is_complete": seen.attached and not seen.truncated,
                    **asdict(figures[rank]),
                    "calls": [_call(row, known) for row in rows[rank]],
                }
                for rank, seen in enumerate(trace.ranks)
            ],
            "edges": [
                {"source": source, "destination": destination, **asdict(messages)}
                for (source, destination), messages in edges_of(trace).items()
            ],
            "collectives": [
                {"call": name, "rank": rank, **asdict(calls)}
                for (name, rank), calls in collectives_of(rows).items()
            ],
        }
    )


def _case(case: TracedCase) -> dict[str, Any]:
    failure = case.failure
    return {
        "number": case.number,
        "launch": case.launch,
        "test": case.test,
        "stand_in": case.stand_in,
        "ranks": case.ranks,
        "label": case.label,
        "is_altered": case.is_altered,
        "num_calls": case.num_calls,
        "verdict": failure.verdict if failure is not None else None,
        "message": failure.message if failure is not None else "",
    }


def _call(row: Row, known: Mapping[int | None, Communicator]) -> dict[str, Any]:
    call = row.call
    return {
        "number": row.number,
        "call": row.name,
        "function": call.function,
        "began_ms": round(row.began_ms, 6),
        "lasted_ms": None if row.lasted_ms is None else round(row.lasted_ms, 6),
        "peer": None if call.peer == NO_PEER else call.peer,
        "tag": call.tag,
        "matched_source": call.matched_source if call.matched_source >= 0 else None,
        "matched_tag": call.matched_tag if call.matched_source >= 0 else None,
        "num_bytes": row.num_bytes,
        "communicator": "" if row.communicator is None else known[row.communicator].name,
        "is_send": call.is_send,
        "is_receive": call.is_receive,
        "is_request": call.creates_request,
        "completed_by": row.completed_by,
        "waits_for": list(row.waits_for),
        "completes": list(row.completes),
        "failed_polls": call.failed_polls,
        "file": call.file.rpartition("/")[2],
        "line": call.line,
        "state": row.state,
        "error": call.error,
    }
