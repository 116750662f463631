"""The timeline as JSON for Perfetto and chrome://tracing: one track a rank, arrows for messages.

The form is the Trace Event Format: `X` is a call with its duration, `s` and `f` are the two ends of
an arrow. Times are microseconds, as it wants them.
"""

from typing import Any

from grader.evidence import CallSpan, Evidence, Message
from grader.report.json_text import dump

_PROCESS = 1
_US_PER_MS = 1000.0


def perfetto_json(seen: Evidence) -> str:
    """Return the timeline of a case; a call that has not returned ends with the last thing seen."""
    spans, messages = seen.timeline.spans, seen.timeline.messages
    known = [time for span in spans for time in (span.began_ms, span.ended_ms or 0.0)]
    last_ms = max([*known, *(each.received_ms for each in messages)], default=0.0)
    events = [
        {"ph": "M", "name": "process_name", "pid": _PROCESS, "args": {"name": seen.case}},
        *(_track(rank) for rank in range(seen.num_ranks)),
        *(_call(span, last_ms) for span in spans),
        # An arrow needs a call to begin at: what was sent before those that are shown has none.
        *(
            end
            for number, each in enumerate(messages)
            if each.sent_ms >= min((span.began_ms for span in spans), default=0.0)
            for end in _arrow(number, each)
        ),
    ]
    return dump({"traceEvents": events, "displayTimeUnit": "ms"})


def _track(rank: int) -> dict[str, Any]:
    name = {"name": f"rank {rank}"}
    return {"ph": "M", "name": "thread_name", "pid": _PROCESS, "tid": rank, "args": name}


def _call(span: CallSpan, last_ms: float) -> dict[str, Any]:
    ended_ms = max(last_ms, span.began_ms) if span.ended_ms is None else span.ended_ms
    return {
        "ph": "X",
        "name": span.name,
        "cat": span.kind,
        "pid": _PROCESS,
        "tid": span.rank,
        "ts": round(span.began_ms * _US_PER_MS, 3),
        "dur": round((ended_ms - span.began_ms) * _US_PER_MS, 3),
        "args": {"line": span.place, "about": span.note, "returned": span.ended_ms is not None},
    }


def _arrow(number: int, message: Message) -> list[dict[str, Any]]:
    common = {"name": "message", "cat": "message", "id": number, "pid": _PROCESS}
    about = {"num_bytes": message.num_bytes, "tag": message.tag}
    sent, received = (
        round(time_ms * _US_PER_MS, 3) for time_ms in (message.sent_ms, message.received_ms)
    )
    return [
        {"ph": "s", **common, "tid": message.source, "ts": sent, "args": about},
        {"ph": "f", "bp": "e", **common, "tid": message.destination, "ts": received},
    ]
