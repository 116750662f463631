"""Which ranks have entered which collective call, and what keeps the others of it waiting."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from grader.trace.calls import Call, Trace
from grader.trace.functions import COLLECTIVES, COMMUNICATORS_BY_ALL, ROOTED_COLLECTIVES

_WORLD = 0
_ARE_FOR_ALL = COLLECTIVES | COMMUNICATORS_BY_ALL
_ERRORS_OF_ARGUMENTS = range(1, 15)
"""MPI_ERR_BUFFER to MPI_ERR_UNKNOWN of Open MPI: of these a call ends before anything is sent."""


@dataclass(frozen=True)
class Gathering:
    """One collective call, as far as the ranks of its communicator have come to it.

    Ranks that have come with another function or root than the first are in it as well.
    """

    calls: dict[int, Call]
    """By rank: the call it has entered, or another one it has made in its place."""
    missing: frozenset[int]
    """Ranks of the communicator that have not come."""
    num_unknown: int
    """Members of the communicator of which it is not known which ranks they are."""
    number: int
    """How many collective calls on the communicator came before this one."""
    num_made: dict[int, int]
    """By missing rank: how many it has made."""

    @property
    def agrees(self) -> bool:
        """Return whether all ranks that have come called the same function with the same root."""
        calls = [self.calls[rank] for rank in sorted(self.calls)]
        return all(_fit(one, other) for one, other in pairwise(calls))

    @property
    def failed(self) -> frozenset[int]:
        """Return the ranks in which the call has failed: others of it may wait for ever."""
        return frozenset(rank for rank, call in self.calls.items() if call.error)

    @property
    def is_complete(self) -> bool:
        """Return whether every rank has come, to the same call, and none has failed in it."""
        is_gathered = not self.missing and not self.num_unknown
        return is_gathered and not self.failed and self.agrees

    def keeping_waiting(self, rank: int) -> frozenset[int]:
        """Return the ranks that have not come, or came to another call than `rank` did."""
        own = self.calls.get(rank)
        others = {other for other, call in self.calls.items() if own and not _fit(own, call)}
        return self.missing | others | self.failed - {rank}


class CollectiveMatches:
    """All collective calls of a run, in their order on each communicator."""

    def __init__(self, trace: Trace) -> None:
        self._num_ranks = len(trace.ranks)
        self._calls: dict[int, dict[int, list[Call]]] = defaultdict(lambda: defaultdict(list))
        self._users: dict[int, set[int]] = defaultdict(set)
        for rank, seen in enumerate(trace.ranks):
            for communicator in set(seen.calls.column("communicator").tolist()):
                self._users[communicator].add(rank)
            for call in seen.calls.where(seen.calls.function_is(_ARE_FOR_ALL.__contains__)):
                if is_collective(call):
                    self._calls[call.communicator][rank].append(call)

    def all(self) -> Iterator[Gathering]:
        """Yield every collective call that a rank has made, those of one communicator in order."""
        for by_rank in list(self._calls.values()):
            rank = max(by_rank, key=lambda each: len(by_rank[each]))
            gatherings = (self.of(rank, call) for call in list(by_rank[rank]))
            yield from (each for each in gatherings if each is not None)

    def of(self, rank: int, call: Call) -> Gathering | None:
        """Return what a collective call of `rank` is part of; None if the trace does not tell."""
        known_size = 0 < call.communicator_size <= self._num_ranks
        if call.communicator < _WORLD or not known_size:
            return None
        by_rank = self._calls[call.communicator]
        number = bisect_left(by_rank[rank], call.sequence, key=lambda each: each.sequence)
        members = self._members(call)
        return Gathering(
            calls={m: by_rank[m][number] for m in members if len(by_rank[m]) > number},
            missing=frozenset(m for m in members if len(by_rank[m]) <= number),
            num_unknown=max(call.communicator_size - len(members), 0),
            number=number,
            num_made={m: len(by_rank[m]) for m in members if len(by_rank[m]) <= number},
        )

    def _members(self, call: Call) -> list[int]:
        """Return the ranks known to be of the communicator: all, or those that have used it."""
        if call.communicator == _WORLD or call.communicator_size == self._num_ranks:
            return list(range(self._num_ranks))
        return sorted(self._users[call.communicator])


def is_collective(call: Call) -> bool:
    """Return whether no rank leaves, or completes, this call before all have made it.

    One that has failed counts if it may have sent something: it was the same call for the others.
    """
    prepares_only = call.function.endswith("_init") and not call.creates_request
    is_refused = call.error in _ERRORS_OF_ARGUMENTS
    return call.function in _ARE_FOR_ALL and not prepares_only and not is_refused


def _fit(one: Call, other: Call) -> bool:
    rooted = one.function in ROOTED_COLLECTIVES and min(one.peer, other.peer) >= 0
    return one.function == other.function and (one.peer == other.peer or not rooted)
