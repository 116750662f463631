"""Draws the timeline of a case from its trace: spans of calls, arrows of messages, their sums."""

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass

from grader.evidence import CallSpan, Edge, Message, Timeline
from grader.judge.functions import COLLECTIVES
from grader.judge.pending_requests import have_got
from grader.judge.wording import name_of, place_of
from grader.trace.calls import ANY_SOURCE, NO_PEER, PROC_NULL, Call, RankTrace, Trace

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
    calls = [
        (rank, call)
        for rank, seen in enumerate(trace.ranks)
        for call in seen.calls
        if call.entered_ns > 0
    ]
    began_ns = min((call.entered_ns for _, call in calls), default=0)
    latest = heapq.nlargest(most_spans, calls, key=lambda each: each[1].entered_ns)
    waiting = [_waiting(seen) for seen in trace.ranks]
    spans = [
        _span(rank, call, began_ns, is_open=call.sequence in waiting[rank]) for rank, call in latest
    ]
    first_ns = min((call.entered_ns for _, call in latest), default=0)
    num_messages, shown = 0, []
    for delivery in _deliveries(trace):
        num_messages += 1
        if delivery.send.entered_ns >= first_ns:
            shown.append(delivery)
    last = heapq.nlargest(most_messages, shown, key=lambda each: each.received_ns)
    messages = [_message(delivery, began_ns) for delivery in last]
    return Timeline(
        spans=tuple(sorted(spans, key=lambda span: (span.rank, span.began_ms))),
        messages=tuple(sorted(messages, key=lambda message: (message.sent_ms, message.source))),
        num_spans_left_out=len(calls) - len(spans),
        num_messages_left_out=num_messages - len(messages),
    )


def edges_of(trace: Trace) -> tuple[Edge, ...]:
    """Return the pairs of ranks of which the first has sent the second anything, the most first."""
    numbers: Counter[tuple[int, int]] = Counter()
    sizes: Counter[tuple[int, int]] = Counter()
    for rank, seen in enumerate(trace.ranks):
        for call in seen.calls:
            if _is_sent(call) and call.peer != rank and 0 <= call.peer < len(trace.ranks):
                numbers[rank, call.peer] += 1
                sizes[rank, call.peer] += max(call.num_bytes, 0)
    pairs = sorted(numbers, key=lambda pair: (-sizes[pair], pair))[:MOST_EDGES]
    return tuple(Edge(*pair, numbers[pair], sizes[pair]) for pair in sorted(pairs))


def _is_sent(call: Call) -> bool:
    prepares_only = call.function.endswith("_init") and not call.creates_request
    return call.is_send and not (prepares_only or call.cancelled or call.error)


@dataclass(frozen=True, slots=True)
class _Delivery:
    """A send with the receive that got its message."""

    rank: int
    """The receiver."""
    send: Call
    receive: Call

    @property
    def received_ns(self) -> int:
        return self.receive.completed_ns or self.receive.left_ns


def _deliveries(trace: Trace) -> Iterator[_Delivery]:
    """Yield each message that arrived: messages of one sender and tag arrive in their order."""
    sent: dict[tuple[int, ...], deque[Call]] = defaultdict(deque)
    for rank, seen in enumerate(trace.ranks):
        for call in seen.calls:
            if _is_sent(call):
                sent[rank, call.peer, call.communicator, call.tag].append(call)
    for rank, seen in enumerate(trace.ranks):
        for call in seen.calls.where(have_got(seen.calls)):
            queue = sent.get((call.matched_source, rank, call.communicator, call.matched_tag))
            if queue:
                found = _Delivery(rank, queue.popleft(), call)
                is_later = found.received_ns >= found.send.entered_ns > 0
                if is_later and call.matched_source != rank:
                    yield found


def _message(found: _Delivery, began_ns: int) -> Message:
    return Message(
        source=found.receive.matched_source,
        destination=found.rank,
        sent_ms=_ms(found.send.entered_ns, began_ns),
        received_ms=_ms(found.received_ns, began_ns),
        num_bytes=max(found.send.num_bytes, 0),
        tag=found.send.tag,
        received_at=place_of(found.receive),
    )


def _waiting(seen: RankTrace) -> frozenset[int]:
    """Return the sequences of the call that a rank is in: two for both halves of a Sendrecv."""
    halves = (call for call in seen.calls if call.sequence == seen.inside and call.is_receive)
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
            said += [f"{'to' if call.is_send else 'from'} {who}", f"tag {call.tag}"]
        else:
            said.append(who)
    if call.num_bytes >= 0:
        said.append(f"{call.num_bytes} bytes")
    if call.failed_polls > 1:
        said.append(f"asked {call.failed_polls} times in vain")
    return ", ".join(said)


def _ms(time_ns: int, began_ns: int) -> float:
    return round(min(max(time_ns - began_ns, 0) / _NS_PER_MS, _FARTHEST_MS), 6)
