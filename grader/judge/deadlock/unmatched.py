"""Why messages and collective calls of a hanging run do not come about."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from grader.trace.call_formatting import (
    at,
    listed,
    name_of,
    ranks_have,
    ranks_text,
    signature_of,
    tag_text,
)
from grader.trace.calls import ANY_SOURCE, ANY_TAG, Call, Trace
from grader.trace.collectives import Gathering, is_collective
from grader.trace.matching import Matches, match
from grader.trace.pending_requests import Posted
from grader.trace.wait_conditions import needs_of
from grader.trace.wait_for_graph import PROBES, StalledRun

_NEVER_BUFFERED = ("Ssend", "Issend", "Ssend_init", "send", "isend")
_MOST_ITEMS = 3


def ungathered(situation: StalledRun) -> Iterator[str]:
    """Yield for each communicator why the first collective call that hangs on it does."""
    first: dict[int, tuple[Gathering, Call]] = {}
    for rank, call in situation.all_stuck_calls():
        gathering = situation.gatherings.of(rank, call) if is_collective(call) else None
        if gathering is None:
            continue
        known = first.get(call.communicator)
        if known is None or gathering.number < known[0].number:
            first[call.communicator] = gathering, call
    for communicator in sorted(first)[:_MOST_ITEMS]:
        gathering, call = first[communicator]
        if not gathering.agrees:
            yield _disagreement(gathering)
        if gathering.missing:
            yield _absence(gathering, call, situation.gone)
        if gathering.num_unknown:
            yield (
                f"only {len(gathering.calls)} of the {call.communicator_size} ranks of the "
                f"communicator called {name_of(call)}"
            )


def _disagreement(gathering: Gathering) -> str:
    by_call: dict[str, list[int]] = defaultdict(list)
    for rank, call in sorted(gathering.calls.items()):
        left = f"{at(call)}, which has returned" if call.left_ns else ""
        by_call[signature_of(call) + left].append(rank)
    texts: list[str] = []
    for call_text, ranks in list(by_call.items())[:_MOST_ITEMS]:
        verb = "" if texts else " is" if len(ranks) == 1 else " are"
        texts.append(f"{ranks_text(ranks)}{verb} in {call_text}")
    return ", ".join(texts)


def _absence(gathering: Gathering, call: Call, gone: frozenset[int]) -> str:
    by_state: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for rank, number in sorted(gathering.num_made.items()):
        by_state[number, rank in gone].append(rank)
    texts = []
    for (number, is_gone), ranks in list(by_state.items())[:_MOST_ITEMS]:
        if gathering.number:
            how = f"returned after {number}" if is_gone else f"made only {number}"
        else:
            how = ("returned without calling" if is_gone else "not called") + f" {name_of(call)}"
        texts.append(f"{ranks_have(ranks)} {how}")
    if not gathering.number:
        return listed(texts)
    number = gathering.number + 1
    return (
        f"this {name_of(call)} is collective call {number} on its communicator, but {listed(texts)}"
    )


def undelivered(situation: StalledRun) -> Iterator[str]:
    """Yield what keeps the sends and receives of a hanging run from each other."""
    receives, sends = _stuck(situation)
    partners, unreceived = situation.matches.partners, situation.matches.unreceived
    misses = [_miss(*each) for each in _nearest_misses(situation)]
    if misses:
        yield from list(dict.fromkeys(misses))[:_MOST_ITEMS]
    elif receives:
        yield _pending(unreceived)
    elif any(send.key not in partners for send in sends):
        if len(sends) == 1:
            yield "this send has no matching receive"
        elif any(send.key in partners for send in sends):
            yield "not all of these sends have matching receives"
        else:
            yield "none of these sends has a matching receive"
    listening = {receive.rank for receive in receives}
    may_return = [each for each in sends if each.call.function not in _NEVER_BUFFERED]
    if any(send.rank not in listening for send in may_return):
        yield "a send may block until its receive is posted"


def difference(situation: StalledRun) -> str:
    """Return in what a receive and the message nearest to it differ first; empty without a pair."""
    for receive, message in _nearest_misses(situation):
        other_communicator, other_source, _ = _distance(receive.call, message)
        return "communicators" if other_communicator else "ranks" if other_source else "tags"
    return ""


def _stuck(situation: StalledRun) -> tuple[list[Posted], list[Posted]]:
    """Return the receives and probes that wait for ever, and the sends."""
    stuck = [Posted(*each) for each in situation.all_stuck_calls()]
    receives = [each for each in stuck if each.call.is_receive or each.call.function in PROBES]
    return receives, [each for each in stuck if each.call.is_send]


def _nearest_misses(situation: StalledRun) -> Iterator[tuple[Posted, Posted]]:
    """Yield receives, each with the message that nearly fits it."""
    receives, sends = _stuck(situation)
    yield from _nearest(receives, situation.matches.unreceived)
    yield from _nearest(situation.matches.unserved, sends)


def _nearest(
    receives: Sequence[Posted], messages: Sequence[Posted]
) -> Iterator[tuple[Posted, Posted]]:
    """Yield each receive with the message that comes nearest to fitting it."""
    first: dict[tuple[int | None, ...], Posted] = {}
    for message in messages:
        call = message.call
        for form in product((call.communicator, None), (message.rank, None), (call.tag, None)):
            first.setdefault((call.peer, *form), message)
    for receive in receives:
        call = receive.call
        asked = (
            (call.communicator, None),
            (None if call.peer == ANY_SOURCE else call.peer, None),
            (None if call.tag == ANY_TAG else call.tag, None),
        )
        nearest = (first.get((receive.rank, *form)) for form in product(*asked))
        message_of_it = next(filter(None, nearest), None)
        if message_of_it is not None:
            yield receive, message_of_it


def _distance(receive: Call, message: Posted) -> tuple[bool, bool, bool]:
    return (
        receive.communicator != message.call.communicator,
        receive.peer not in (ANY_SOURCE, message.rank),
        receive.tag not in (ANY_TAG, message.call.tag),
    )


def _miss(receive: Posted, message: Posted) -> str:
    """Return in what the message differs from what the receive or probe asks for."""
    other_communicator, other_source, _ = _distance(receive.call, message)
    to = f"rank {receive.rank}"
    if other_communicator:
        sent = f"rank {message.rank} sends {to} a message{at(message.call)}"
        return f"{sent}, but {to} receives on a different communicator"
    if other_source:
        sent = f"rank {message.rank} sends {to} a message{at(message.call)}"
        return f"{sent}, but {to} waits for one from rank {receive.call.peer}"
    return (
        f"rank {message.rank} sends {to} a message with tag {tag_text(message.call.tag)}"
        f"{at(message.call)}, but {to} waits for tag {tag_text(receive.call.tag)}"
    )


def _pending(messages: Sequence[Posted]) -> str:
    if not messages:
        return "no send is pending"
    shown = [f"rank {m.rank}'s {signature_of(m.call)}{at(m.call)}" for m in messages[:_MOST_ITEMS]]
    more = len(messages) - len(shown)
    sends = "send is" if len(messages) == 1 else "sends are"
    return f"the pending {sends} {listed([*shown, *([f'{more} more'] if more else [])])}"


def left_behind(trace: Trace, returned: frozenset[int]) -> str:
    """Return a clause on a send that a rank waits for and a returned one has not; or nothing.

    A long message is handed over piece by piece, and only while its sender is inside of MPI.
    """
    matches = match(trace)
    for rank in sorted(set(range(len(trace.ranks))) - returned):
        for need in needs_of(rank, trace.ranks[rank]) or ():
            for call in need.calls:
                for message in _coming(matches, rank, call):
                    is_left = message.call.creates_request and not message.call.completed_ns
                    if message.rank in returned and message.call.is_send and is_left:
                        return _clause(message, rank)
    return ""


def unfinished(trace: Trace, rank: int) -> str:
    """Return a call of `rank` that nobody saw end or waits for now, sends first; or nothing."""
    calls = trace.ranks[rank].calls
    waited = {each for call in calls[-1:] if not call.left_ns for each in call.waits_for}
    left = [
        call
        for call in calls
        if call.creates_request and not (call.completed_ns or call.cancelled or call.error)
        if call.sequence not in waited
    ]
    first = min(left, key=lambda call: not call.is_send, default=None)
    return f"{signature_of(first)}{at(first)}" if first is not None else ""


def _coming(matches: Matches, rank: int, call: Call) -> Iterable[Posted]:
    """Return the messages that a receive or probe of `rank` may get."""
    if call.function in PROBES:
        return matches.found_by(rank, call)
    return matches.partners.get((rank, call.sequence), ()) if call.is_receive else ()


def _clause(message: Posted, waiting: int) -> str:
    return (
        f"rank {message.rank} returned without waiting for its "
        f"{signature_of(message.call)}{at(message.call)}, so this message might never arrive; "
        f"rank {waiting} waits for it"
    )
