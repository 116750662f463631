"""Draws the timeline of a case from its trace: spans of calls, arrows of messages, their sums."""

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from grader.judge.traffic.counting import bytes_text, only_prepare
from grader.model.evidence import CallSpan, Edge, Message, Timeline
from grader.trace.call_formatting import name_of, place_of
from grader.trace.calls import (
    ANY_SOURCE,
    ANY_TAG,
    NO_PEER,
    PROC_NULL,
    Call,
    Calls,
    Mask,
    RankTrace,
    Trace,
)
from grader.trace.functions import COLLECTIVES
from grader.trace.pending_requests import have_got

MOST_SPANS = 240
MOST_MESSAGES = 160
MOST_EDGES = 256
_NS_PER_MS = 1e6
_FARTHEST_MS = 1e9
"""No case takes eleven days: a clock that says so was written by the submission."""


def timeline_of(
    trace: Trace, most_spans: int = MOST_SPANS, most_messages: int = MOST_MESSAGES
) -> Timeline:
    """Return the calls and messages of a case; of more than fit, those that were made last.

    The times are milliseconds since the first call. What records contradict is left out, so that
    nothing is drawn that no time axis can hold.
    """
    began = [
        (entered_ns, rank, index)
        for rank, seen in enumerate(trace.ranks)
        for index, (entered_ns,) in enumerate(seen.calls.keys("entered_ns"))
        if entered_ns > 0
    ]
    began_ns = min((entered_ns for entered_ns, _, _ in began), default=0)
    latest = heapq.nlargest(most_spans, began, key=lambda each: each[0])
    first_ns = min((entered_ns for entered_ns, _, _ in latest), default=0)
    waiting = [_waiting(seen) for seen in trace.ranks]
    calls = [(rank, trace.ranks[rank].calls[index]) for _, rank, index in latest]
    spans = [
        _span(rank, call, began_ns, is_open=call.sequence in waiting[rank]) for rank, call in calls
    ]
    num_messages, shown = 0, []
    for delivery in _deliveries(trace):
        num_messages += 1
        if delivery.received_ns >= first_ns:  # so the last one of all is never missing
            shown.append(delivery)
    last = heapq.nlargest(most_messages, shown, key=lambda each: each.received_ns)
    messages = [_message(trace, delivery, began_ns) for delivery in last]
    return Timeline(
        spans=tuple(sorted(spans, key=lambda span: (span.rank, span.began_ms))),
        messages=tuple(sorted(messages, key=lambda message: (message.sent_ms, message.source))),
        num_spans_left_out=len(began) - len(spans),
        num_messages_left_out=num_messages - len(messages),
    )


def edges_of(trace: Trace) -> tuple[Edge, ...]:
    """Return the pairs of ranks of which the first has sent the second anything, the most first."""
    numbers: Counter[tuple[int, int]] = Counter()
    sizes: Counter[tuple[int, int]] = Counter()
    for rank, seen in enumerate(trace.ranks):
        sent = seen.calls.where(_are_sent(seen.calls))
        for peer, num_bytes in sent.keys("peer", "num_bytes"):
            if peer != rank and 0 <= peer < len(trace.ranks):
                numbers[rank, peer] += 1
                sizes[rank, peer] += max(num_bytes, 0)
    pairs = sorted(numbers, key=lambda pair: (-sizes[pair], pair))[:MOST_EDGES]
    return tuple(Edge(*pair, numbers[pair], sizes[pair]) for pair in sorted(pairs))


def _are_sent(calls: Calls) -> Mask:
    """Return by which calls a message has left."""
    came_to_nothing = only_prepare(calls) | calls.flag("cancelled") | (calls.column("error") != 0)
    sent: Mask = calls.flag("is_send") & ~came_to_nothing
    return sent


class _Delivery(NamedTuple):
    """A send with the receive that got its message."""

    source: int
    destination: int
    send: int
    """Which of the source's calls."""
    receive: int
    """Which of the destination's calls."""
    sent_ns: int
    received_ns: int


def _deliveries(trace: Trace) -> Iterator[_Delivery]:
    """Yield each message that arrived: messages of one sender and tag arrive in their order."""
    sent: dict[tuple[int, ...], deque[tuple[int, int]]] = defaultdict(deque)
    for rank, seen in enumerate(trace.ranks):
        is_sent = _are_sent(seen.calls)
        fields = seen.calls.where(is_sent).keys("peer", "communicator", "tag", "entered_ns")
        for index, (*lane, sent_ns) in zip(np.flatnonzero(is_sent).tolist(), fields, strict=True):
            sent[rank, *lane].append((index, sent_ns))
    for rank, seen in enumerate(trace.ranks):
        is_got = have_got(seen.calls)
        fields = seen.calls.where(is_got).keys(
            "matched_source", "communicator", "matched_tag", "completed_ns", "left_ns"
        )
        for index, (source, communicator, tag, completed_ns, left_ns) in zip(
            np.flatnonzero(is_got).tolist(), fields, strict=True
        ):
            queue = sent.get((source, rank, communicator, tag))
            if queue:
                send, sent_ns = queue.popleft()
                received_ns = completed_ns or left_ns
                if received_ns >= sent_ns > 0 and source != rank:
                    yield _Delivery(source, rank, send, index, sent_ns, received_ns)


def _message(trace: Trace, found: _Delivery, began_ns: int) -> Message:
    send = trace.ranks[found.source].calls[found.send]
    receive = trace.ranks[found.destination].calls[found.receive]
    return Message(
        source=found.source,
        destination=found.destination,
        sent_ms=_ms(found.sent_ns, began_ns),
        received_ms=_ms(found.received_ns, began_ns),
        num_bytes=max(send.num_bytes, 0),
        tag=send.tag,
        received_at=place_of(receive),
    )


def _waiting(seen: RankTrace) -> frozenset[int]:
    """Return the sequences of the call that a rank is in: two for both halves of a Sendrecv."""
    is_half = seen.calls.flag("is_receive") & (seen.calls.column("sequence") == seen.inside)
    halves = seen.calls.where(is_half)
    return frozenset({seen.inside, *(each for call in halves for each in call.waits_for)})


def _span(rank: int, call: Call, began_ns: int, *, is_open: bool) -> CallSpan:
    # What was not seen to end though the rank went on (an operation of torch) is drawn as a point.
    ended_ns = max(call.left_ns or call.completed_ns, call.entered_ns)
    ended_ms = None if is_open else _ms(ended_ns, began_ns)
    return CallSpan(
        rank=rank,
        name=name_of(call),
        place=place_of(call),
        kind=_kind(call),
        began_ms=_ms(call.entered_ns, began_ns),
        ended_ms=ended_ms,
        note=_note(call),
    )


def _kind(call: Call) -> str:
    if call.is_send or call.is_receive:
        return "send" if call.is_send else "receive"
    return "collective" if call.function in COLLECTIVES else "wait"


def _note(call: Call) -> str:
    said = []
    if call.peer not in (NO_PEER, PROC_NULL):
        peer = call.matched_source if call.peer == ANY_SOURCE else call.peer
        who = f"rank {peer}" if peer >= 0 else "any rank"
        if call.is_send or call.is_receive:
            tag = call.matched_tag if call.tag == ANY_TAG else call.tag
            said.append(f"{'to' if call.is_send else 'from'} {who}")
            said.append(f"tag {tag}" if tag >= 0 else "any tag")
        else:
            said.append(who)
    if call.num_bytes >= 0:
        said.append(bytes_text(call.num_bytes))
    if call.failed_polls > 1:
        said.append(f"polled {call.failed_polls} times without success")
    return ", ".join(said)


def _ms(time_ns: int, began_ns: int) -> float:
    return round(min(max(time_ns - began_ns, 0) / _NS_PER_MS, _FARTHEST_MS), 6)
