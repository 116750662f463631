"""What each rank waits for at this moment, if it waits at all."""

from dataclasses import dataclass

from grader.trace.calls import Call, Calls, RankTrace
from grader.trace.collectives import is_collective
from grader.trace.functions import (
    BLOCKING_EXCHANGES,
    BLOCKING_RECEIVES,
    BLOCKING_SENDS,
    TESTS_FOR_ALL,
    TESTS_FOR_ANY,
    WAITS_FOR_ALL,
    WAITS_FOR_ANY,
)

_POLLING_PROBES = frozenset({"Iprobe", "Improbe"})
_BLOCKING_ON_ITSELF = frozenset(
    (BLOCKING_SENDS | BLOCKING_RECEIVES | BLOCKING_EXCHANGES | {"Finalize"}) - {"Bsend", "Mrecv"}
)
_MOST_RECORDED_WAITS = 256
"""Of a longer list of requests only these are in the trace."""


@dataclass(frozen=True)
class WaitCondition:
    """What must happen before a rank goes on."""

    rank: int
    call: Call
    """The call it is in, or the poll it repeats."""
    calls: tuple[Call, ...]
    """Sends, receives, probes and collectives that have to come to their end."""
    all_needed: bool
    """All of them, not any one."""
    certain: bool = True
    """Nothing else could let the rank go on."""

    @property
    def is_poll(self) -> bool:
        """Return whether the rank asks again and again instead of waiting inside MPI."""
        return self.call.function in _POLLS


_POLLS = _POLLING_PROBES | TESTS_FOR_ALL | TESTS_FOR_ANY


def needs_of(rank: int, seen: RankTrace) -> tuple[WaitCondition, ...] | None:
    """Return what a rank waits for: any one of several needs lets it go on.

    None when it computes outside MPI, or is in a call that waits for nobody, or when its trace
    does not tell: then it may go on.
    """
    if seen.inside < 0 and not seen.polling:
        return None
    requests = _Requests(seen.calls)
    if seen.inside < 0:
        return _polls(rank, seen, requests)
    call = requests.made_by(seen.inside)
    if call is None or (call.left_ns and call.function not in BLOCKING_EXCHANGES):
        return None
    if call.function in WAITS_FOR_ALL or call.function in WAITS_FOR_ANY:
        need = _waiting(rank, call, requests, call.function in WAITS_FOR_ALL)
    elif call.function in BLOCKING_EXCHANGES:
        need = _waiting(rank, call, requests, all_needed=True)
    elif call.function in _BLOCKING_ON_ITSELF or is_collective(call):
        need = WaitCondition(rank, call, (call,), all_needed=True)
    else:
        return None
    return (need,)


class _Requests:
    """What is known of the requests of one rank; looked up once for all that wait for them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._index = {number: index for index, (number,) in enumerate(calls.keys("sequence"))}
        cancelling = calls.where(calls.function_is("Cancel".__eq__))
        self.given_up = frozenset(each for call in cancelling for each in call.waits_for)
        """Sequences of the calls whose requests were cancelled, perhaps in vain."""

    def made_by(self, sequence: int) -> Call | None:
        """Return the call that made a request; None if there is no record of it."""
        index = self._index.get(sequence)
        return None if index is None else self._calls[index]


def _polls(rank: int, seen: RankTrace, requests: _Requests) -> tuple[WaitCondition, ...] | None:
    """Return one need for each poll of the loop that the rank is in.

    Empty polls of one place are one record, which names all requests that were polled there.
    """
    needs = []
    for call in reversed(seen.calls):
        found_something = not call.failed_polls and bool(call.waits_for)
        if call.function not in _POLLS or found_something or call.matched_source >= 0:
            break
        if call.function in _POLLING_PROBES:
            needs.append(WaitCondition(rank, call, (call,), all_needed=True))
        elif call.waits_for:
            needs.append(_waiting(rank, call, requests, call.function == "Testall"))
    return tuple(reversed(needs)) or None


def _waiting(rank: int, call: Call, requests: _Requests, all_needed: bool) -> WaitCondition:
    """Return the need of a call that waits for requests: those that are not complete yet."""
    waited = [requests.made_by(sequence) for sequence in dict.fromkeys(call.waits_for)]
    given_up = requests.given_up
    pending = tuple(
        each
        for each in waited
        if each is not None
        and not each.completed_ns
        and not (each.is_receive and each.sequence in given_up)
    )
    is_listed = None not in waited and len(call.waits_for) < _MOST_RECORDED_WAITS
    certain = all_needed or (is_listed and not given_up.intersection(call.waits_for))
    return WaitCondition(rank, call, pending, all_needed, certain)
