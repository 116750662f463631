"""What `grade trace` has seen as JSON: what docs/trace.md specifies."""

from typing import Any

from grader.model import TestResult
from grader.report.json_text import dump
from grader.report.trace_rows import Row, rows_of
from grader.report.trace_summary import Messages, collectives_of, edges_of, ranks_of
from grader.report.trace_table import Labels
from grader.report.traced import Traced, TracedCase
from grader.trace.calls import NO_PEER

SCHEMA_VERSION = 1


def trace_json(traced: Traced) -> str:
    """Return the chosen case with all its calls, and the other cases without theirs."""
    trace = traced.trace
    rows = [rows_of(rank, seen, traced.began_ns) for rank, seen in enumerate(trace.ranks)]
    labels = Labels(rows)
    summaries = ranks_of(trace, rows)
    return dump(
        {
            "schema_version": SCHEMA_VERSION,
            "assignment": traced.assignment,
            "part": traced.part,
            "submission": traced.submission,
            "tests": [_test(test) for test in traced.tests],
            "cases": [_case(case) for case in traced.cases],
            "case": traced.chosen.number,
            "communicators": [
                {"name": name, "size": size} for name, size in labels.communicators().items()
            ],
            "ranks": [
                {
                    "rank": summary.rank,
                    "is_complete": seen.attached and not seen.truncated,
                    "num_calls": summary.num_calls,
                    "sent": _messages(summary.sent),
                    "received": _messages(summary.received),
                    "collectives": _messages(summary.collectives),
                    "num_unfinished": summary.num_unfinished,
                    "calls": [_call(row, labels) for row in own],
                }
                for summary, seen, own in zip(summaries, trace.ranks, rows, strict=True)
            ],
            "edges": [
                {"source": e.source, "destination": e.destination, **_messages(e.messages)}
                for e in edges_of(trace)
            ],
            "collectives": [
                {"call": each.name, "rank": each.rank, **_messages(each.calls)}
                for each in collectives_of(rows)
            ],
        }
    )


def _test(test: TestResult) -> dict[str, Any]:
    return {"name": test.name, "verdict": test.verdict.value, "message": test.message}


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
        "verdict": failure.verdict.value if failure is not None else None,
        "message": failure.message if failure is not None else "",
    }


def _messages(messages: Messages) -> dict[str, int]:
    return {
        "number": messages.number,
        "num_bytes": messages.num_bytes,
        "largest_num_bytes": messages.largest_num_bytes,
    }


def _call(row: Row, labels: Labels) -> dict[str, Any]:
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
        "communicator": labels.communicator(row),
        "is_send": call.is_send,
        "is_receive": call.is_receive,
        "is_request": row.is_request,
        "completed_by": row.completed_by,
        "waits_for": list(row.waits_for),
        "completes": list(row.completes),
        "failed_polls": call.failed_polls,
        "file": call.file.rpartition("/")[2],
        "line": call.line,
        "state": row.state.value,
        "error": call.error,
    }
