"""Who talks to whom: in a ring, and on any graph."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import product
from math import prod

from grader.judge.check_failures import NotProven, RuleViolation
from grader.judge.traffic.collective_calls import messages_of, neighbourhood_call
from grader.judge.traffic.counting import assert_not_truncated, messages_sent, sends_of
from grader.trace.call_formatting import at, name_of, place_of, ranks_text
from grader.trace.calls import Call, Trace

Graph = Mapping[int, AbstractSet[int]]
"""The neighbours of each rank: those that it sends to. A rank is no neighbour of its own."""


def assert_one_neighbour(trace: Trace, *, may_be_silent: bool = False) -> None:
    """Assert that each rank sends to one neighbour only, all ranks in the same direction.

    The neighbours of rank r of n are (r + 1) mod n and (r - 1) mod n; of two ranks both are the
    same, and a single rank has none.
    may_be_silent: accept ranks that send nothing, as when there is nothing to send.
    Raises RuleViolation, or NotProven for a trace that is incomplete.
    """
    num_ranks = len(trace.ranks)
    silent = [rank for rank, number in enumerate(messages_sent(trace)) if not number]
    first: tuple[int, int, Call] | None = None
    for rank in range(num_ranks):
        for call in sends_of(trace, rank):
            step = (call.peer - rank) % num_ranks
            if step not in (1, num_ranks - 1):
                raise RuleViolation.of(
                    "rule.not_a_ring_neighbour",
                    f"rank {rank} called {name_of(call)}{at(call)} to send to rank "
                    f"{call.peer}, which is not its neighbour. In a ring of {num_ranks} ranks, "
                    "it must send only to rank "
                    f"{(rank + 1) % num_ranks}, or only to rank {(rank - 1) % num_ranks}",
                    rank=rank,
                    peer=call.peer,
                    place=place_of(call),
                )
            first = first or (step, rank, call)
            if step != first[0]:
                here = f"to rank {call.peer}{at(call)}"
                raise RuleViolation.of(
                    "rule.both_ring_neighbours",
                    f"rank {first[1]} sent to rank {first[2].peer}{at(first[2])}, "
                    f"{f'but rank {rank} sent' if rank != first[1] else 'and'} {here}; in a "
                    "ring, every rank sends in the same direction",
                    rank=rank,
                    places=(place_of(first[2]), place_of(call)),
                )
    if num_ranks > 1 and silent and not may_be_silent:
        raise RuleViolation.of(
            "rule.sends_nothing_in_ring",
            f"{ranks_text(silent)} sent nothing; in a ring, every rank sends to one neighbour",
            ranks=silent,
        )
    assert_not_truncated(trace)


def assert_neighbours(trace: Trace, graph: Graph, *, may_be_silent: bool = False) -> None:
    """Assert that each rank sends messages to all of its neighbours on a graph, and to no others.

    Messages are those of point-to-point calls: Send, Isend, Sendrecv, started requests, pickles.
    Those that mpi4py sends within comm.allreduce and comm.reduce belong to a collective; other
    rules are about these.

    graph: the neighbours of each rank of COMM_WORLD, such as `grid_graph((rows, columns))`. Each
    rank must be in it. may_be_silent: accept neighbours that nothing is sent to. Raises
    RuleViolation; NotProven for a trace that is incomplete, or holds a neighbourhood collective, of
    which MPI does not say with whom it exchanges; ValueError for a graph of other ranks.
    """
    assert_graph_of(graph, len(trace.ranks))
    assert_not_truncated(trace)
    assert_neighbours_are_known(trace)
    for rank in range(len(trace.ranks)):
        for call in messages_of(trace, rank):
            if call.peer not in graph[rank]:
                raise RuleViolation.of(
                    "rule.not_a_neighbour",
                    f"rank {rank} called {name_of(call)}{at(call)} to send to rank "
                    f"{call.peer}, which is not its neighbour; {_has(graph, rank)}",
                    rank=rank,
                    peer=call.peer,
                    place=place_of(call),
                )
    for rank in range(0 if may_be_silent else len(trace.ranks)):
        left_out = graph[rank] - {call.peer for call in messages_of(trace, rank)}
        if left_out:
            verb = "which is its neighbour" if len(left_out) == 1 else "which are its neighbours"
            raise RuleViolation.of(
                "rule.neighbour_left_out",
                f"rank {rank} sent nothing to {ranks_text(left_out)}, {verb}; {_has(graph, rank)}",
                rank=rank,
                peers=left_out,
            )


def assert_neighbours_are_known(trace: Trace) -> None:
    """Raise NotProven where ranks exchange data with neighbours that no record names."""
    for rank in range(len(trace.ranks)):
        call = neighbourhood_call(trace, rank)
        if call is not None:
            raise NotProven.of(
                "evidence.unknown_neighbours",
                f"rank {rank} called {name_of(call)}{at(call)}, and the record does not "
                "say which ranks this call exchanges data with. Use point-to-point messages "
                "instead; otherwise your instructor reviews this part",
                rank=rank,
                place=place_of(call),
            )


def _has(graph: Graph, rank: int) -> str:
    if not graph[rank]:
        return "it has no neighbours"
    verb = "neighbour is" if len(graph[rank]) == 1 else "neighbours are"
    return f"its {verb} {ranks_text(graph[rank])}"


def ring_graph(num_ranks: int) -> Graph:
    """Return the graph in which rank r has the neighbours r - 1 and r + 1, modulo their number.

    On two ranks both are the same; a single rank has none. Raises ValueError for a number below 1.
    """
    return grid_graph((num_ranks,), periodic=True)


def grid_graph(shape: Sequence[int], *, periodic: bool | Sequence[bool] = False) -> Graph:
    """Return the graph of a Cartesian grid, of any number of dimensions.

    Ranks are numbered row by row, the last coordinate fastest, as by MPI_Cart_create (MPI 4.1,
    section 8.5.1). A rank has up to two neighbours a dimension, and none across corners; a row of
    ranks is `grid_graph((ranks,))`.

    shape: ranks along each dimension, such as (rows, columns). periodic: whether the first and the
    last are neighbours; one for all dimensions, or one each. Raises ValueError for a length below
    1, and for a number of dimensions that is not that of the shape.
    """
    wraps = [periodic] * len(shape) if isinstance(periodic, bool) else list(periodic)
    if not shape or min(shape) < 1 or len(wraps) != len(shape):
        raise ValueError(
            f"a grid of shape {tuple(shape)}, periodic {tuple(wraps)}: each dimension needs "
            "a length of at least 1, and its own True or False in periodic"
        )
    graph = {}
    for rank, place in enumerate(product(*map(range, shape))):
        around = set()
        for dimension, step in product(range(len(shape)), (-1, 1)):
            moved = place[dimension] + step
            if wraps[dimension] or 0 <= moved < shape[dimension]:
                stride = prod(shape[dimension + 1 :])
                around.add(rank + (moved % shape[dimension] - place[dimension]) * stride)
        graph[rank] = frozenset(around - {rank})
    return graph


def star_graph(num_ranks: int, *, root: int = 0) -> Graph:
    """Return the graph in which `root` is a neighbour of every other rank, and their only one.

    Raises ValueError for a root that is none of the ranks.
    """
    if not 0 <= root < num_ranks:
        raise ValueError(f"a star around rank {root}: expected a rank from 0 to {num_ranks - 1}")
    others = frozenset(range(num_ranks)) - {root}
    return {rank: others if rank == root else frozenset({root}) for rank in range(num_ranks)}


def complete_graph(num_ranks: int) -> Graph:
    """Return the graph in which all ranks are neighbours of each other."""
    return {rank: frozenset(range(num_ranks)) - {rank} for rank in range(num_ranks)}


def edges_of(graph: Graph) -> Iterator[tuple[int, int]]:
    """Yield the directed edges (sender, receiver) of a graph: both ways where both may send."""
    for rank in sorted(graph):
        for neighbour in sorted(graph[rank]):
            yield rank, neighbour


def assert_graph_of(graph: Graph, num_ranks: int) -> None:
    """Raise ValueError unless a graph has exactly the ranks from 0 to num_ranks - 1."""
    known = set(graph).union(*graph.values())
    if set(graph) != set(range(num_ranks)) or known != set(graph):
        raise ValueError(
            f"the graph has entries for ranks {sorted(graph)} and mentions ranks {sorted(known)}; "
            f"expected ranks 0 to {num_ranks - 1} in both. Make the graph for {num_ranks} ranks"
        )
