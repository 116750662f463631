"""The timeline as JSON for Perfetto and chrome://tracing: one track a rank, arrows for messages.

The form is the Trace Event Format: `X` is a call with its duration, `s` and `f` are the two ends of
an arrow. Times are microseconds, as it wants them. Calls on one track may not overlap, and an arrow
has to begin and end within calls: what does not is left out by its readers.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from grader.evidence import CallSpan, Evidence, Message
from grader.report.json_text import dump

_PROCESS = 1
_US_PER_MS = 1000.0


@dataclass(frozen=True)
class _Slice:
    """A call as it is on its track."""

    call: CallSpan
    ended_ms: float


def perfetto_json(seen: Evidence) -> str:
    """Return the timeline of a case; a call that has not returned ends with the last thing seen."""
    spans, messages = seen.timeline.spans, seen.timeline.messages
    known = [time for span in spans for time in (span.began_ms, span.ended_ms or 0.0)]
    last_ms = max([*known, *(each.received_ms for each in messages)], default=0.0)
    tracks = [_slices(spans, rank, last_ms) for rank in range(seen.num_ranks)]
    events = [
        {"ph": "M", "name": "process_name", "pid": _PROCESS, "args": {"name": seen.case}},
        *(name for rank in range(seen.num_ranks) for name in _track(rank)),
        *(_call(each) for track in tracks for each in track),
        # What was sent before the calls that are shown has none to begin at.
        *(
            end
            for number, each in enumerate(messages)
            if each.sent_ms >= min((span.began_ms for span in spans), default=0.0)
            for end in _arrow(number, each, tracks[each.destination])
        ),
    ]
    return dump({"traceEvents": events, "displayTimeUnit": "ms"})


def _slices(spans: Sequence[CallSpan], rank: int, last_ms: float) -> list[_Slice]:
    """Return the calls of a rank in their order, each ended when the rank made the next one.

    What goes on after its call has returned (an operation of torch) is not cut off by that: an
    arrow shows when its message arrived.
    """
    own = sorted((span for span in spans if span.rank == rank), key=lambda span: span.began_ms)
    began = sorted({span.began_ms for span in own})
    next_ms = dict(pairwise([*began, last_ms]))
    return [
        _Slice(
            span,
            max(span.began_ms, min(_end(span, last_ms), next_ms[span.began_ms])),
        )
        for span in own
    ]


def _end(span: CallSpan, last_ms: float) -> float:
    return last_ms if span.ended_ms is None else span.ended_ms


def _track(rank: int) -> list[dict[str, Any]]:
    common = {"ph": "M", "pid": _PROCESS, "tid": rank}
    return [
        {**common, "name": "thread_name", "args": {"name": f"rank {rank}"}},
        {**common, "name": "thread_sort_index", "args": {"sort_index": rank}},
    ]


def _call(each: _Slice) -> dict[str, Any]:
    span = each.call
    return {
        "ph": "X",
        "name": span.name,
        "cat": span.kind,
        "pid": _PROCESS,
        "tid": span.rank,
        "ts": _us(span.began_ms),
        "dur": round(_us(each.ended_ms) - _us(span.began_ms), 3),
        "args": {"line": span.place, "about": span.note, "returned": span.ended_ms is not None},
    }


def _arrow(number: int, message: Message, track: Sequence[_Slice]) -> list[dict[str, Any]]:
    """Return both ends; track: that of the destination."""
    common = {"name": "message", "cat": "message", "id": number, "pid": _PROCESS}
    about = {"num_bytes": message.num_bytes, "tag": message.tag}
    sent, received = _us(message.sent_ms), _us(_received_ms(message, track))
    return [
        {"ph": "s", **common, "tid": message.source, "ts": sent, "args": about},
        {"ph": "f", "bp": "e", **common, "tid": message.destination, "ts": received},
    ]


def _received_ms(message: Message, track: Sequence[_Slice]) -> float:
    """Return when a message was received, or the nearest moment of a call of its destination.

    That a message is there is noted right after the call that brought it.
    """
    time_ms = message.received_ms
    index = bisect_right(track, time_ms, key=lambda each: each.call.began_ms)
    near = track[max(index - 1, 0) : index + 1]
    moments = [min(max(time_ms, each.call.began_ms), each.ended_ms) for each in near]
    possible = [each for each in moments if each >= message.sent_ms]
    return min(possible, key=lambda each: abs(each - time_ms), default=time_ms)


def _us(time_ms: float) -> float:
    return round(time_ms * _US_PER_MS, 3)
