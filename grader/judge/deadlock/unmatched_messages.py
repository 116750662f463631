"""Why receives get no message and sends find no receive: the wrong tag, rank or communicator."""

from collections.abc import Iterator, Sequence
from itertools import product

from grader.trace.call_formatting import at, signature_of, tag_text
from grader.trace.calls import ANY_SOURCE, ANY_TAG, Call
from grader.trace.pending_requests import Posted
from grader.trace.wait_for_graph import PROBES, StalledRun

_MOST_ITEMS = 3


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
        yield "no receive is posted for any of these sends"
    listening = {receive.rank for receive in receives}
    if any(_may_be_buffered(send.call) and send.rank not in listening for send in sends):
        yield "a send may not finish before its receive is posted"


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


def _may_be_buffered(send: Call) -> bool:
    """Return whether the send returns at once in other runs, with shorter messages."""
    return send.function not in ("Ssend", "Issend", "Ssend_init", "send", "isend")


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
        return f"{sent} on a different communicator from the one that {to} receives on"
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
    return f"the pending sends are {', '.join(shown)}{f' and {more} more' if more else ''}"
