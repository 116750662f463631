"""Places the calls of the ranks along the time: to the right in percent, downwards in pixels."""

from dataclasses import dataclass

from grader.model.evidence import CallSpan, Timeline

_LANE, _TOP = 56, 20
_ROWS = {"send": 8, "receive": 20, "wait": 32, "collective": 32}
"""Where in a lane each kind is drawn, so that no colour alone tells it."""
_NARROWEST = 0.35
"""Of a bar: what is shorter could not be seen."""


@dataclass(frozen=True)
class Axis:
    """The time from the first call that is shown; the last tenth is for what goes on."""

    first_ms: float
    length_ms: float

    def x(self, time_ms: float) -> float:
        """Return where a time is; what was before the first call is at the left edge."""
        return 1 + 89 * min(max((time_ms - self.first_ms) / self.length_ms, 0), 1)

    def width(self, span: CallSpan) -> float:
        """Return how wide the bar of a call is."""
        end = 99.5 if span.ended_ms is None else self.x(span.ended_ms)
        return max(end - self.x(span.began_ms), _NARROWEST)

    @property
    def ticks(self) -> list[float]:
        """Return the times that are named, in milliseconds."""
        return [self.first_ms + self.length_ms * quarter / 4 for quarter in range(5)]


def axis(seen: Timeline) -> Axis:
    """Return an axis for all calls and messages that are shown; there is a call."""
    first = min(each.began_ms for each in seen.spans)
    known = [time for span in seen.spans for time in (span.began_ms, span.ended_ms or 0.0)]
    known += [each.received_ms for each in seen.messages]
    return Axis(first, max(max(known) - first, 1e-3))


def y(rank: int, kind: str) -> int:
    """Return where the bars of a rank and a kind have their middle."""
    return lane(rank) + _ROWS.get(kind, _ROWS["wait"])


def lane(rank: int) -> int:
    """Return where the lane of a rank begins, and the one before it ends."""
    return _TOP + _LANE * rank


def title(span: CallSpan) -> str:
    """Return what is said of a bar."""
    ended = "has not returned" if span.ended_ms is None else f"to {span.ended_ms:.3f} ms"
    said = [f"rank {span.rank}: {span.name}", span.note, span.place]
    return f"{', '.join(filter(None, said))}; from {span.began_ms:.3f} {ended}"


def took_text(span: CallSpan) -> str:
    """Return how many milliseconds a call took."""
    return "not returned" if span.ended_ms is None else f"{span.ended_ms - span.began_ms:.3f}"


def cut_text(seen: Timeline) -> str:
    """Return how many calls and messages are left out; empty for none."""
    left_out = (
        (len(seen.spans), seen.num_spans_left_out, "calls"),
        (len(seen.messages), seen.num_messages_left_out, "messages"),
    )
    return "".join(
        f" Of {num_shown + num_others} {what} {_last(num_shown)}."
        for num_shown, num_others, what in left_out
        if num_others
    )


def _last(num_shown: int) -> str:
    if num_shown == 0:
        return "none is shown, because all arrived before"
    return f"the last {num_shown} are shown" if num_shown > 1 else "the last is shown"
