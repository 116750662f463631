"""Writes what `grade trace` has seen: JSON by trace.schema.json, and a timeline for Perfetto."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from grader.addons.trace_views.trace_rows import (
    Communicator,
    Row,
    Traced,
    TracedCase,
    collectives_of,
    communicators_of,
    edges_of,
    figures_of,
    rows_of,
)
from grader.model.evidence import CallSpan, Evidence, Message
from grader.report.safe_text import dump
from grader.trace.calls import NO_PEER

SCHEMA_VERSION = 1
_OF_CASES = ("number", "launch", "test", "stand_in", "ranks", "label", "is_altered", "num_calls")


def trace_json(traced: Traced) -> str:
    """Return the chosen case with all its calls, and the other cases without calls."""
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
        **{name: getattr(case, name) for name in _OF_CASES},
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


_PROCESS = 1
_US_PER_MS = 1000.0
_Track = Sequence[tuple[CallSpan, float]]
"""The calls of a rank, each with the time at which its drawing ends, in milliseconds."""


def perfetto_json(seen: Evidence) -> str:
    """Return the timeline of a case; a call that has not returned ends with the last thing seen."""
    spans, messages = seen.timeline.spans, seen.timeline.messages
    known = [time for span in spans for time in (span.began_ms, span.ended_ms or 0.0)]
    last_ms = max([*known, *(each.received_ms for each in messages)], default=0.0)
    tracks = [_track(spans, rank, last_ms) for rank in range(seen.num_ranks)]
    events = [{"ph": "M", "name": "process_name", "pid": _PROCESS, "args": {"name": seen.case}}]
    for rank in range(seen.num_ranks):
        names = {"thread_name": {"name": f"rank {rank}"}, "thread_sort_index": {"sort_index": rank}}
        for name, args in names.items():
            events.append({"ph": "M", "pid": _PROCESS, "tid": rank, "name": name, "args": args})
    events += (_drawn_call(span, until_ms) for track in tracks for span, until_ms in track)
    first_ms = min((span.began_ms for span in spans), default=0.0)
    for number, each in enumerate(messages):
        # A message sent before the shown calls has no call to begin at.
        if each.sent_ms >= first_ms:
            events += _arrow(number, each, tracks[each.destination])
    return dump({"traceEvents": events, "displayTimeUnit": "ms"})


def _track(spans: Sequence[CallSpan], rank: int, last_ms: float) -> _Track:
    """Return the calls of a rank in their order, each ended when the rank made the next one.

    An operation of torch may continue after its call has returned, even if its drawing ends: an
    arrow shows when its message arrived.
    """
    own = sorted((span for span in spans if span.rank == rank), key=lambda span: span.began_ms)
    next_ms = dict(pairwise([*sorted({span.began_ms for span in own}), last_ms]))
    ended_ms = [last_ms if span.ended_ms is None else span.ended_ms for span in own]
    return [
        (span, max(span.began_ms, min(end_ms, next_ms[span.began_ms])))
        for span, end_ms in zip(own, ended_ms, strict=True)
    ]


def _drawn_call(span: CallSpan, until_ms: float) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": span.name,
        "cat": span.kind,
        "pid": _PROCESS,
        "tid": span.rank,
        "ts": _us(span.began_ms),
        "dur": round(_us(until_ms) - _us(span.began_ms), 3),
        "args": {"line": span.place, "about": span.note, "returned": span.ended_ms is not None},
    }


def _arrow(number: int, message: Message, track: _Track) -> list[dict[str, Any]]:
    """Return both ends; track: that of the destination."""
    common = {"name": "message", "cat": "message", "id": number, "pid": _PROCESS}
    about = {"num_bytes": message.num_bytes, "tag": message.tag}
    sent, received = _us(message.sent_ms), _us(_received_ms(message, track))
    return [
        {"ph": "s", **common, "tid": message.source, "ts": sent, "args": about},
        {"ph": "f", "bp": "e", **common, "tid": message.destination, "ts": received},
    ]


def _received_ms(message: Message, track: _Track) -> float:
    """Return when a message was received, or the nearest moment of a call of its destination."""
    time_ms = message.received_ms
    index = bisect_right(track, time_ms, key=lambda each: each[0].began_ms)
    near = track[max(index - 1, 0) : index + 1]
    moments = (min(max(time_ms, span.began_ms), until_ms) for span, until_ms in near)
    possible = (each for each in moments if each >= message.sent_ms)
    return min(possible, key=lambda each: abs(each - time_ms), default=time_ms)


def _us(time_ms: float) -> float:
    return round(time_ms * _US_PER_MS, 3)
