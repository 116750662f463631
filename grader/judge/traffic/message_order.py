"""In which order messages follow one another, and whether one may have been used before it came."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import permutations

from grader.judge.check_failures import RuleViolation
from grader.judge.traffic.counting import assert_not_truncated, recorded_sends, sends_of
from grader.trace.call_formatting import at, name_of, place_of
from grader.trace.calls import Call, Trace
from grader.trace.collectives import CollectiveMatches
from grader.trace.functions import ROOTED_COLLECTIVES

Way = tuple[int, int, int, int]
"""From when on which rank tells something, and when which other one knows it."""
_MOST_SHOWN = 8


@dataclass(frozen=True)
class _Message:
    source: int
    send: Call
    posted_ns: int
    received_ns: int


def message_depth(trace: Trace) -> int:
    """Return the length of the longest chain of messages; 0 without messages.

    A message follows another where its sender had received that one before it sent. In a chain of
    n ranks that is n - 1, in a binomial tree log2 n, and 1 where all send before they receive. It
    counts what a program waits for, also where the data do not depend on it.
    Raises NotProven for a trace that is incomplete.
    """
    return len(_longest(trace))


def assert_message_depth(trace: Trace, most: int) -> None:
    """Assert that no chain of messages is longer than `most`, as `message_depth` counts.

    Raises RuleViolation, or NotProven for a trace that is incomplete.
    """
    chain = _longest(trace)
    if len(chain) <= most:
        return
    first, last = chain[0], chain[-1]
    way = [str(each.source) for each in chain] + [str(last.send.peer)]
    way = way if len(way) <= _MOST_SHOWN else [*way[: _MOST_SHOWN - 1], "...", way[-1]]
    raise RuleViolation.of(
        "rule.messages_in_a_row",
        f"{len(chain)} messages form a chain, but at most {most} may; each sender waited for "
        f"the previous message: rank {' -> '.join(way)}",
        depth=len(chain),
        most=most,
        rank=first.source,
        places=tuple(dict.fromkeys(filter(None, (place_of(each.send) for each in chain)))),
    )


def ways_of(trace: Trace) -> list[Way]:
    """Return by which calls a rank can know what another one did, in their order.

    By messages and collectives; the end of a synchronous send tells that a receive was posted.
    """
    ways = []
    for each in _received(trace):
        send = each.send
        ways.append((send.entered_ns, each.source, each.received_ns, send.peer))
        if send.synchronous:
            ways.append((each.posted_ns, send.peer, send.completed_ns, each.source))
    for gathering in CollectiveMatches(trace).all():
        for (one, begun), (other, ended) in permutations(gathering.calls.items(), 2):
            name = begun.function.lower()
            giver = one if "cast" in name or name.lstrip("i").startswith("scatter") else other
            if begun.function not in ROOTED_COLLECTIVES or begun.peer == giver:
                ways.append((begun.entered_ns, one, ended.completed_ns, other))
    return sorted(way for way in ways if way[0] <= way[2])


def arrives_ns(ways: Iterable[Way], source: int, since_ns: int, destination: int) -> float:
    """Return when a rank can first know of what another one did until a moment; inf for never."""
    known: dict[int, float] = {source: since_ns}
    for begun_ns, one, ended_ns, other in ways:
        if known.get(one, math.inf) <= begun_ns:
            known[other] = min(known.get(other, math.inf), ended_ns)
    return known.get(destination, math.inf)


def _longest(trace: Trace) -> Sequence[_Message]:
    """Return one of the longest rows of messages that follow one another."""
    assert_not_truncated(trace)
    # A message is received after it was sent: in this order, all that one can follow come first.
    messages = sorted(_received(trace), key=lambda each: each.send.entered_ns)
    # Of each message, how many are in the row that ends with it, and its number.
    rows: list[tuple[int, int]] = []
    before: dict[int, int] = {}
    arriving: dict[int, list[tuple[int, int]]] = defaultdict(list)
    longest_at: dict[int, tuple[int, int]] = {}
    for number, each in enumerate(messages):
        waiting = arriving[each.source]
        while waiting and waiting[0][0] <= each.send.entered_ns:
            there = rows[heappop(waiting)[1]]
            longest_at[each.source] = max(there, longest_at.get(each.source, there))
        depth, before[number] = longest_at.get(each.source, (0, -1))
        rows.append((depth + 1, number))
        heappush(arriving[each.send.peer], (each.received_ns, number))
    _, number = max(rows, default=(0, -1))
    chain = []
    while number >= 0:
        chain.append(messages[number])
        number = before[number]
    return chain[::-1]


def _received(trace: Trace) -> Iterator[_Message]:
    """Yield the messages that were received: of one sender and tag in the order they were sent."""
    receives: dict[tuple[int, int, int, int], list[tuple[int, int]]] = defaultdict(list)
    for rank, seen in enumerate(trace.ranks):
        calls = seen.calls.where(seen.calls.flag("is_receive"))
        for source, tag, communicator, *times_ns in calls.keys(
            "matched_source", "matched_tag", "communicator", "entered_ns", "completed_ns"
        ):
            if times_ns[1] and source >= 0:
                receives[source, rank, tag, communicator].append((times_ns[0], times_ns[1]))
    for rank in range(len(trace.ranks)):
        sent: dict[tuple[int, int, int, int], list[Call]] = defaultdict(list)
        for call in recorded_sends(trace, rank):
            sent[rank, call.peer, call.tag, call.communicator].append(call)
        for key, sends in sent.items():
            for send, each in zip(sends, receives[key], strict=False):
                yield _Message(rank, send, *each)


def arrival_text(trace: Trace, rank: int, *, uses_nothing: bool = False) -> str:
    """Return a clause if the trace suggests that a rank reads received data before its wait.

    Of a rank that sends to one other only, as in a ring, it is known which message must come first:
    what is passed on in the next step. Of others only a receive that is never waited for.
    Nothing where there is no sign of it. The trace alone proves nothing: for a result that is
    wrong. uses_nothing: it is known that nothing the rank has received is in its result.
    """
    for each in (rank, *(other for other in range(len(trace.ranks)) if other != rank)):
        told = _never_waited_for(trace, each) or _passed_on_too_early(trace, each)
        if told:
            return told
    received = [c for c in _receives(trace, rank) if c.completed_ns and c.num_bytes > 0]
    if uses_nothing and received and received[0].creates_request:
        first = received[0]
        told = f"Likely: the code leaves out what its {name_of(first)}{at(first)} received, or "
        return f"{told}reads it too early. The data is valid only after the wait"
    return ""


def _receives(trace: Trace, rank: int) -> list[Call]:
    calls = trace.ranks[rank].calls
    return [call for call in calls if call.is_receive and not call.cancelled and not call.error]


def _never_waited_for(trace: Trace, rank: int) -> str:
    for call in _receives(trace, rank):
        if call.creates_request and not call.completed_ns:
            told = f"Likely: rank {rank} uses the data of its {name_of(call)}{at(call)} without "
            return f"{told}waiting for it. The data is valid only after the wait"
    return ""


def _passed_on_too_early(trace: Trace, rank: int) -> str:
    sends = sends_of(trace, rank)
    receives = _receives(trace, rank)
    peers = {call.peer for call in sends}
    if len(peers) != 1 or len(trace.ranks) < 3 or len(sends) != len(receives):
        return ""
    for send, before in zip(sends[1:], receives, strict=False):
        if before.creates_request and before.completed_ns > send.entered_ns:
            where = at(send) if place_of(send) != place_of(before) else ""
            told = f"Likely: rank {rank} reads too early. It waits for its {name_of(before)}"
            told += f"{at(before)} only after the next {name_of(send)}{where}, which passes on "
            return f"{told}the received data"
    return ""
