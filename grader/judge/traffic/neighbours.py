"""Who talks to whom: in a ring, and on any graph."""

from grader.judge.check_failures import NotProven, RuleViolation
from grader.judge.traffic.collective_calls import messages_of, neighbourhood_call
from grader.judge.traffic.counting import assert_not_truncated, messages_sent, sends_of
from grader.judge.traffic.graphs import Graph, assert_graph_of
from grader.model.finding import found
from grader.trace.call_formatting import at, name_of, place_of, ranks_text
from grader.trace.calls import Call, Trace


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
                raise RuleViolation(
                    found(
                        "rule.not_a_ring_neighbour",
                        f"rank {rank} sent to rank {call.peer}{at(call)}, which is not its "
                        f"neighbour. In a ring of {num_ranks}, it sends to rank "
                        f"{(rank + 1) % num_ranks} only, or to rank {(rank - 1) % num_ranks} "
                        "only",
                        rank=rank,
                        peer=call.peer,
                        place=place_of(call),
                    )
                )
            first = first or (step, rank, call)
            if step != first[0]:
                here = f"to rank {call.peer}{at(call)}"
                raise RuleViolation(
                    found(
                        "rule.both_ring_neighbours",
                        f"rank {first[1]} sent to rank {first[2].peer}{at(first[2])}, "
                        f"{f'but rank {rank}' if rank != first[1] else 'and'} {here}; in a "
                        "ring, every rank sends to the same side",
                        rank=rank,
                        places=(place_of(first[2]), place_of(call)),
                    )
                )
    if num_ranks > 1 and silent and not may_be_silent:
        raise RuleViolation(
            found(
                "rule.sends_nothing_in_ring",
                f"{ranks_text(silent)} sent nothing; in a ring, every rank sends to one neighbour",
                ranks=silent,
            )
        )
    assert_not_truncated(trace)


def assert_neighbours(trace: Trace, graph: Graph, *, may_be_silent: bool = False) -> None:
    """Assert that each rank sends messages to all of its neighbours on a graph, and to no others.

    Messages are those of point-to-point calls: Send, Isend, Sendrecv, started requests, pickles.
    Those that mpi4py sends within comm.allreduce and comm.reduce belong to a collective; other
    rules are about these.

    graph: the neighbours of each rank of COMM_WORLD, such as `grid_graph((rows, columns))`. Each
    rank must be in it. may_be_silent: accept neighbours that nothing is sent to.
    Raises RuleViolation; NotProven for a trace that is incomplete, or holds a neighbourhood
    collective, of which MPI does not say with whom it exchanges; ValueError for a graph of other
    ranks.
    """
    assert_graph_of(graph, len(trace.ranks))
    assert_not_truncated(trace)
    assert_neighbours_are_known(trace)
    for rank in range(len(trace.ranks)):
        for call in messages_of(trace, rank):
            if call.peer not in graph[rank]:
                raise RuleViolation(
                    found(
                        "rule.not_a_neighbour",
                        f"rank {rank} sent to rank {call.peer} with {name_of(call)}{at(call)}, "
                        f"which is not its neighbour; {_has(graph, rank)}",
                        rank=rank,
                        peer=call.peer,
                        place=place_of(call),
                    )
                )
    for rank in range(0 if may_be_silent else len(trace.ranks)):
        left_out = graph[rank] - {call.peer for call in messages_of(trace, rank)}
        if left_out:
            verb = "which is its neighbour" if len(left_out) == 1 else "which are its neighbours"
            raise RuleViolation(
                found(
                    "rule.neighbour_left_out",
                    f"rank {rank} sent nothing to {ranks_text(left_out)}, {verb}; "
                    f"{_has(graph, rank)}",
                    rank=rank,
                    peers=left_out,
                )
            )


def assert_neighbours_are_known(trace: Trace) -> None:
    """Raise NotProven where ranks exchange data with neighbours that no record names."""
    for rank in range(len(trace.ranks)):
        call = neighbourhood_call(trace, rank)
        if call is not None:
            raise NotProven(
                found(
                    "evidence.unknown_neighbours",
                    f"rank {rank} called {name_of(call)}{at(call)}, and the record does not "
                    "say with which ranks it exchanges data. Use messages instead; otherwise your "
                    "instructor reviews this part",
                    rank=rank,
                    place=place_of(call),
                )
            )


def _has(graph: Graph, rank: int) -> str:
    if not graph[rank]:
        return "it has no neighbours"
    verb = "neighbour is" if len(graph[rank]) == 1 else "neighbours are"
    return f"its {verb} {ranks_text(graph[rank])}"
