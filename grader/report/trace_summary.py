"""Counts what a trace holds: by rank, by pair of ranks, by collective."""

from collections.abc import Sequence
from dataclasses import dataclass

from grader.judge.counting import sends_of
from grader.mpi.functions import COLLECTIVES
from grader.mpi.pending_requests import has_got
from grader.report.trace_rows import Row, State
from grader.trace.calls import Trace


@dataclass(frozen=True)
class Messages:
    """How many, of how many bytes together, and the largest of them; zeros where there is none."""

    number: int
    num_bytes: int
    largest_num_bytes: int


@dataclass(frozen=True)
class RankSummary:
    """What one rank has called."""

    rank: int
    num_calls: int
    sent: Messages
    """To other ranks, as rules count them."""
    received: Messages
    """From other ranks: messages that have arrived."""
    collectives: Messages
    """Collective calls, and what the rank gave to them."""
    num_unfinished: int
    """Calls and requests that have not come to their end."""


@dataclass(frozen=True)
class Edge:
    """The messages from one rank to another."""

    source: int
    destination: int
    messages: Messages


@dataclass(frozen=True)
class CollectiveSummary:
    """The calls of one collective by one rank."""

    name: str
    rank: int
    calls: Messages


def ranks_of(trace: Trace, rows: Sequence[Sequence[Row]]) -> list[RankSummary]:
    """Return one summary a rank. rows: those of each rank."""
    return [
        RankSummary(
            rank=rank,
            num_calls=len(own),
            sent=_messages([call.num_bytes for call in sends_of(trace, rank)]),
            received=_messages(
                [
                    row.num_bytes or 0
                    for row in own
                    if has_got(row.call)
                    and row.call.is_receive
                    and row.call.matched_source not in (rank, -1)
                ]
            ),
            collectives=_messages([row.num_bytes or 0 for row in own if _is_collective(row)]),
            num_unfinished=sum(row.state in (State.WAITING, State.NEVER) for row in own),
        )
        for rank, own in enumerate(rows)
    ]


def edges_of(trace: Trace) -> list[Edge]:
    """Return the pairs of ranks of which the first has sent the second anything."""
    sizes: dict[tuple[int, int], list[int]] = {}
    for rank in range(len(trace.ranks)):
        for call in sends_of(trace, rank):
            sizes.setdefault((rank, call.peer), []).append(call.num_bytes)
    return [Edge(*pair, _messages(found)) for pair, found in sorted(sizes.items())]


def collectives_of(rows: Sequence[Sequence[Row]]) -> list[CollectiveSummary]:
    """Return each collective that was called, with the ranks that did."""
    sizes: dict[tuple[str, int], list[int]] = {}
    for rank, own in enumerate(rows):
        for row in own:
            if _is_collective(row):
                sizes.setdefault((row.name, rank), []).append(row.num_bytes or 0)
    return [CollectiveSummary(*key, _messages(found)) for key, found in sizes.items()]


def _is_collective(row: Row) -> bool:
    return row.call.function in COLLECTIVES


def _messages(sizes: Sequence[int]) -> Messages:
    return Messages(len(sizes), sum(sizes), max(sizes, default=0))
