"""Draws the calls of the ranks along the time, and the messages between them as arrows."""

from grader.evidence import CallSpan, Evidence, Message, Timeline
from grader.report.html.markup import Child, Markup, beside_table, element, figure, joined, table
from grader.report.html.numbers import short_number

_LANE = 56
_TOP = 20
_ROWS = {"send": 8, "receive": 20, "wait": 32, "collective": 32}
"""Where in a lane each kind is drawn, so that no colour alone tells it."""
_BAR = 9
_LABELS = 34
_MOST_RANKS = 32
_MOST_ROWS = 240
_NARROWEST = 0.35
"""Of a bar, in percent of the width: what is shorter could not be seen."""
_ZOOMS = (1, 4, 16, 64)


def timeline(evidence: Evidence, name: str) -> Markup | None:
    """Return one lane a rank, which can be zoomed without a script; None where nothing was called.

    name: of this picture, unlike that of any other of the page.
    """
    seen = evidence.timeline
    if not seen.spans:
        return None
    drawn = _drawing(seen, evidence.num_ranks, name) if evidence.num_ranks <= _MOST_RANKS else None
    return figure("Timeline of the ranks", _told(seen), drawn, _tables(seen), class_="timeline")


def _told(seen: Timeline) -> Markup:
    left_out = []
    if seen.num_spans_left_out:
        left_out.append((len(seen.spans), seen.num_spans_left_out, "calls"))
    if seen.num_messages_left_out:
        left_out.append((len(seen.messages), seen.num_messages_left_out, "messages"))
    cut = "".join(
        f" Of {shown + others} {what} {_last(shown)}." for shown, others, what in left_out
    )
    return element(
        "p",
        "Milliseconds since the first call, on the machine's clock (CLOCK_MONOTONIC) as each rank "
        f"has noted it. An arrow goes from a send to when its message was received.{cut}",
        class_="faint",
    )


def _last(num_shown: int) -> str:
    if num_shown == 0:
        return "none is shown, for all of them arrived before"
    return f"the last {num_shown} are shown" if num_shown > 1 else "the last is shown"


def _drawing(seen: Timeline, num_ranks: int, name: str) -> Markup:
    known = [time for span in seen.spans for time in (span.began_ms, span.ended_ms or 0.0)]
    known += [each.received_ms for each in seen.messages]
    # What was sent before the first call that is shown begins at the left edge.
    scale = _Scale(min(each.began_ms for each in seen.spans), max(known))
    height = _TOP + _LANE * num_ranks + 4
    lanes = [_lane(rank) for rank in range(num_ranks)]
    labels = element(
        "svg",
        *(
            element("text", f"{rank}", x=4, y=_TOP + _LANE * rank + 27, class_="name")
            for rank in range(num_ranks)
        ),
        element("text", "rank", x=0, y=14, class_="small"),
        width=_LABELS,
        height=height,
        aria_hidden="true",
    )
    chart = element(
        "svg",
        element("title", f"Timeline of {num_ranks} ranks: {len(seen.spans)} calls"),
        *_ticks(scale, height),
        *lanes,
        *(_bar(span, scale) for span in seen.spans),
        *(_arrow(each, scale) for each in seen.messages),
        # Upon all others: on a phone there is no room beside the bars.
        *(_label(span) for span in seen.spans if span.ended_ms is None),
        class_="time",
        height=height,
        role="img",
    )
    scroller = element(
        "div",
        chart,
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label="Timeline; scrolls sideways when zoomed",
    )
    return joined(_zoom(name), element("div", labels, scroller, class_="lanes"), _key(seen))


class _Scale:
    """Where on the axis a time is, in percent of its width; the last tenth is for what goes on."""

    def __init__(self, first_ms: float, last_ms: float) -> None:
        self.first_ms = first_ms
        self.length_ms = max(last_ms - first_ms, 1e-3)

    def place(self, time_ms: float) -> float:
        """Return the percentage."""
        return 1 + 89 * min(max((time_ms - self.first_ms) / self.length_ms, 0), 1)


def _ticks(scale: _Scale, height: int) -> list[Markup]:
    ticks = []
    for quarter in range(5):
        time_ms = scale.first_ms + scale.length_ms * quarter / 4
        x = f"{scale.place(time_ms):.2f}%"
        ticks.append(element("line", x1=x, x2=x, y1=_TOP - 4, y2=height, class_="lane"))
        ticks.append(
            element(
                "text",
                f"{short_number(time_ms)}{' ms' if quarter == 0 else ''}",
                x=x,
                y=12,
                class_="small",
                text_anchor="start" if quarter == 0 else "middle",
            )
        )
    return ticks


def _lane(rank: int) -> Markup:
    y = _TOP + _LANE * (rank + 1) - 1
    return element("line", x1="0", x2="100%", y1=y, y2=y, class_="lane")


def _bar(span: CallSpan, scale: _Scale) -> Markup:
    begin = scale.place(span.began_ms)
    is_open = span.ended_ms is None
    end = 99.5 if span.ended_ms is None else scale.place(span.ended_ms)
    return element(
        "rect",
        element("title", _title(span)),
        x=f"{begin:.3f}%",
        y=_height(span),
        width=f"{max(end - begin, _NARROWEST):.3f}%",
        height=_BAR,
        class_="open" if is_open else f"bar-{span.kind}",
    )


def _height(span: CallSpan) -> int:
    """Return where the bar of a call begins."""
    return _TOP + _LANE * span.rank + _ROWS.get(span.kind, _ROWS["wait"]) - 4


def _label(span: CallSpan) -> Markup:
    """Return what says that a call has not returned, below its bar."""
    label, y = f"{span.name}, not returned", _height(span) + 20
    return element("text", label, x="99%", y=y, text_anchor="end", class_="above")


def _title(span: CallSpan) -> str:
    ended = "has not returned" if span.ended_ms is None else f"to {span.ended_ms:.3f} ms"
    said = [f"rank {span.rank}: {span.name}", span.note, span.place]
    return f"{', '.join(filter(None, said))}; from {span.began_ms:.3f} {ended}"


def _arrow(message: Message, scale: _Scale) -> Markup:
    return element(
        "line",
        x1=f"{scale.place(message.sent_ms):.3f}%",
        y1=_TOP + _LANE * message.source + _ROWS["send"],
        x2=f"{scale.place(message.received_ms):.3f}%",
        y2=_TOP + _LANE * message.destination + _ROWS["receive"],
        class_="arrow",
        marker_end="url(#tip-arrow)",
    )


def _zoom(name: str) -> Markup:
    choices = []
    for zoom in _ZOOMS:
        key = f"{name}-by{zoom}"
        button = element(
            "input", type="radio", name=name, id=key, class_=f"by{zoom}", checked=zoom == 1
        )
        choices.append(element("label", button, f" {zoom}x", for_=key))
    return element("fieldset", element("legend", "Zoom"), *choices, class_="zoom")


def _key(seen: Timeline) -> Markup:
    is_open = any(span.ended_ms is None for span in seen.spans)
    return element(
        "p",
        "top row of a rank: ",
        element("span", "sends", class_="is-send"),
        "; middle: ",
        element("span", "receives", class_="is-receive"),
        "; bottom: ",
        element("span", "waits and tests", class_="is-wait"),
        ", ",
        element("span", "collectives", class_="is-collective"),
        "; a dashed frame: a call that has not returned" if is_open else None,
        class_="faint",
    )


def _tables(seen: Timeline) -> Markup:
    spans = sorted(seen.spans, key=lambda span: span.began_ms)[:_MOST_ROWS]
    rows: list[tuple[Child, ...]] = [
        (
            f"{span.began_ms:.3f}",
            str(span.rank),
            span.name,
            span.note,
            "not returned" if span.ended_ms is None else f"{span.ended_ms - span.began_ms:.3f}",
            span.place,
        )
        for span in spans
    ]
    heads = ("ms", "rank", "call", "about", "took ms", "line")
    calls = table("Calls in the order in which they began", heads, rows)
    arrived: list[tuple[Child, ...]] = [
        (
            f"{each.sent_ms:.3f}",
            f"{each.received_ms:.3f}",
            f"{each.source} → {each.destination}",
            str(each.num_bytes),
            str(each.tag),
            each.received_at,
        )
        for each in seen.messages
    ]
    heads = ("sent ms", "received ms", "ranks", "bytes", "tag", "received at")
    messages = table("Messages that arrived", heads, arrived) if arrived else None
    return beside_table("The same as tables", joined(calls, messages))
