"""Neighbours, bytes per edge, calls per iteration, sizes of collectives: on made-up traces."""

import pytest

from grader.judge.check_failures import NotProven, RuleViolation
from grader.judge.traffic.call_bounds import (
    assert_bytes_per_edge,
    assert_collective_size,
    assert_collectives_per_iteration,
    assert_messages_per_iteration,
    bytes_by_edge,
)
from grader.judge.traffic.collective_calls import name_lower_case
from grader.judge.traffic.neighbours import assert_neighbours, edges_of, grid_graph, ring_graph
from grader.trace.calls import PROC_NULL, Trace

from ..build import Run

ROW = grid_graph((4,))
OWN = 5


def violation(rule, *arguments, **options):
    with pytest.raises(RuleViolation) as caught:
        rule(*arguments, **options)
    return str(caught.value)


def halo(graph=ROW, *, steps=1, num_elements=10, run=None):
    """All ranks exchange so many elements with each neighbour, in each step."""
    run = run or Run(len(graph))
    for _ in range(steps):
        for source, dest in edges_of(graph):
            run.send(source, dest, num_elements=num_elements)
            run.recv(dest, source)
    return run


def solver(iterations, *, sums=2, num_elements=1, num_ranks=2):
    """A reduction before the loop, `sums` in each iteration, and a barrier after it."""
    run = Run(num_ranks)
    for rank in range(num_ranks):
        for _ in range(1 + sums * iterations):
            run.call(
                rank, "Allreduce", num_elements=num_elements, num_bytes=8 * num_elements, line=30
            )
        run.call(rank, "Barrier")
    return run.trace()


# Neighbours ----------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", [ROW, ring_graph(3), grid_graph((2, 3)), grid_graph((1,))])
def test_an_exchange_with_all_neighbours_holds(graph):
    assert_neighbours(halo(graph).trace(), graph)


def test_a_message_to_someone_else_is_told():
    run = halo()
    run.isend(0, 2)
    assert violation(assert_neighbours, run.trace(), ROW) == (
        "rank 0 called Isend at ring.py:30 to send to rank 2, which is not its neighbour; its "
        "neighbour is rank 1"
    )


def test_a_neighbour_that_is_left_out_is_told():
    run = halo({0: {1}, 1: {0, 2}, 2: {3}, 3: {2}})
    assert violation(assert_neighbours, run.trace(), ROW) == (
        "rank 2 sent nothing to rank 1, which is its neighbour; its neighbours are ranks 1 and 3"
    )
    assert_neighbours(run.trace(), ROW, may_be_silent=True)


def test_a_rank_without_neighbours():
    run = Run(2)
    run.send(0, 1)
    told = violation(assert_neighbours, run.trace(), {0: set(), 1: set()})
    assert told.endswith("it has no neighbours")


def test_what_goes_nowhere_and_what_is_only_made_is_no_message():
    """PROC_NULL beside the edge, a message to oneself, and a persistent request not started."""
    run = halo()
    run.send(0, PROC_NULL)
    run.send(1, 1)
    run.call(0, "Send_init", peer=3, tag=0, num_elements=1, num_bytes=8)
    assert_neighbours(run.trace(), ROW)
    assert_bytes_per_edge(run.trace(), dict.fromkeys(edges_of(ROW), 80))


def test_started_requests_and_both_halves_of_an_exchange_are_messages():
    run = Run(2)
    run.isend(0, 1, function="Startall")
    run.send(1, 0, function="Sendrecv")
    run.recv(1, 0, function="Sendrecv")
    assert_neighbours(run.trace(), ring_graph(2))
    assert bytes_by_edge(run.trace()) == {(0, 1): 8, (1, 0): 8}


def test_whom_a_neighbourhood_collective_reaches_is_not_proven():
    run = halo()
    run.call(3, "Neighbor_alltoall", num_elements=4, num_bytes=32)
    with pytest.raises(NotProven, match="rank 3 called Neighbor_alltoall at"):
        assert_neighbours(run.trace(), ROW)
    with pytest.raises(NotProven):
        assert_bytes_per_edge(run.trace(), {})


def test_a_graph_of_other_ranks_is_the_suites_mistake():
    with pytest.raises(ValueError, match="Make the graph for 4 ranks"):
        assert_neighbours(halo().trace(), ring_graph(3))


@pytest.mark.parametrize(
    "rule",
    [
        lambda trace: assert_neighbours(trace, ROW),
        lambda trace: assert_bytes_per_edge(trace, {}),
        lambda trace: assert_messages_per_iteration({1: trace, 2: trace}, (0, 9)),
        lambda trace: assert_collectives_per_iteration({1: trace, 2: trace}, (0, 9)),
        lambda trace: assert_collective_size(trace, 1, 8),
    ],
)
def test_an_incomplete_or_doubtful_trace_proves_nothing(rule):
    run = halo()
    rule(run.trace())
    with pytest.raises(NotProven, match="records of this run disagree"):
        rule(Trace(run.trace().ranks, doubts=("two counts differ",)))
    run.state(1, truncated=True)
    with pytest.raises(NotProven, match="rank 1 made more calls than the grader keeps"):
        rule(run.trace())


# Bytes per edge ------------------------------------------------------------------------------


def test_bytes_per_edge_are_exact_or_between():
    trace = halo(steps=3).trace()
    assert_bytes_per_edge(trace, dict.fromkeys(edges_of(ROW), 240))
    assert_bytes_per_edge(trace, dict.fromkeys(edges_of(ROW), (80, 240)))
    assert violation(assert_bytes_per_edge, trace, {(1, 2): (0, 239)}) == (
        "rank 1 sent 240 bytes to rank 2 in 3 messages, the first with Send at ring.py:30; "
        "expected 0 "
        "to 239 bytes"
    )
    assert violation(assert_bytes_per_edge, trace, {(0, 1): 241}).endswith("expected 241 bytes")
    assert violation(assert_bytes_per_edge, trace, {(0, 3): 8}) == (
        "rank 0 sent nothing to rank 3; expected 8 bytes"
    )


def test_pickles_may_be_larger_by_their_headers():
    run = Run(2)
    run.send(0, 1, num_elements=80 + 512, num_bytes=80 + 512, pickled=True)
    assert_bytes_per_edge(run.trace(), {(0, 1): 80})
    violation(assert_bytes_per_edge, run.trace(), {(0, 1): 79})
    violation(assert_bytes_per_edge, run.trace(), {(0, 1): 80 + 513})


@pytest.mark.parametrize("edge", [(0, 2), (1, 1), (-1, 0)])
def test_an_edge_between_other_ranks_is_the_suites_mistake(edge):
    with pytest.raises(ValueError, match="must join two different ranks from 0 to 1"):
        assert_bytes_per_edge(Run(2).trace(), {edge: 8})


@pytest.mark.parametrize("bounds", [-1, (2, 1), (-1, 1)])
def test_bounds_that_nothing_is_within_are_the_suites_mistake(bounds):
    with pytest.raises(ValueError, match="fewest, most"):
        assert_bytes_per_edge(Run(2).trace(), {(0, 1): bounds})


# Per iteration -------------------------------------------------------------------------------


def test_calls_outside_of_the_loop_do_not_count():
    assert_collectives_per_iteration({5: solver(5), 9: solver(9)}, 2)
    assert_collectives_per_iteration({5: solver(5), 9: solver(9), 10: solver(10)}, (1, 2))


def test_one_call_more_an_iteration_is_told():
    traces = {5: solver(5, sums=3), 9: solver(9, sums=3)}
    assert violation(assert_collectives_per_iteration, traces, 2) == (
        "rank 0 made 3 collective calls per iteration (16 in 5 iterations, 28 in 9); expected 2. "
        "The rank called Allreduce at ring.py:30"
    )
    told = violation(assert_collectives_per_iteration, traces, (0, 2), names={"Allreduce"})
    assert told.startswith("rank 0 made 3 calls to Allreduce per iteration")
    assert_collectives_per_iteration(traces, 0, names={"Bcast"})


def test_a_part_of_a_call_an_iteration():
    """One that is made every other time."""
    told = violation(assert_collectives_per_iteration, {4: solver(4), 8: solver(7)}, 2)
    assert "made 1.5 collective calls per iteration" in told


def test_a_rank_alone_need_not_call():
    one = {4: solver(4, sums=0, num_ranks=1), 8: solver(8, sums=0, num_ranks=1)}
    assert_collectives_per_iteration(one, 2)
    many = {4: solver(4, sums=3, num_ranks=1), 8: solver(8, sums=3, num_ranks=1)}
    violation(assert_collectives_per_iteration, many, 2)


def test_messages_per_iteration_by_rank():
    traces = {2: halo(steps=3).trace(), 4: halo(steps=5).trace()}
    assert_messages_per_iteration(traces, {rank: len(others) for rank, others in ROW.items()})
    told = violation(assert_messages_per_iteration, traces, 1)
    assert told.startswith(
        "rank 1 sent 2 messages per iteration (6 in 2 iterations, 10 in 4); expected 1. The rank"
    )
    with pytest.raises(ValueError, match="none for rank 1"):
        assert_messages_per_iteration(traces, {0: 1})


def test_fewer_than_two_runs_are_the_suites_mistake():
    with pytest.raises(ValueError, match="at least two different numbers of iterations"):
        assert_messages_per_iteration({1: Run(2).trace()}, 1)
    with pytest.raises(ValueError, match="the same number of ranks"):
        assert_messages_per_iteration({1: Run(2).trace(), 2: Run(3).trace()}, 1)


# Forms of collective calls -------------------------------------------------------------------


def persistent(iterations):
    run = Run(2)
    for rank in range(2):
        moved = {"num_elements": 1, "num_bytes": 8}
        run.call(rank, "Allreduce_init", **moved)
        for _ in range(iterations):
            run.call(rank, "Start", creates_request=True, **moved)
            run.call(rank, "Wait")
    return run.trace()


def nonblocking(iterations):
    run = Run(2)
    for rank in range(2):
        for _ in range(iterations):
            run.call(rank, "Iallreduce", creates_request=True, num_elements=1, num_bytes=8)
    return run.trace()


def lower_case_allreduce(iterations):
    """As mpi4py makes it: to rank 0, lengths before pickles, then back in two broadcasts."""
    run = Run(3, communicator=OWN)
    for rank in range(3):
        run.call(rank, "Comm_dup", communicator=0, line=3, place=8)
    at = {"line": 3, "place": 8}
    for _ in range(iterations):
        for rank in (1, 2):
            run.send(rank, 0, **at)
            run.send(rank, 0, num_elements=21, num_bytes=21, pickled=True, **at)
            run.recv(0, rank, **at)
            run.recv(0, rank, num_elements=21, num_bytes=21, **at)
        for rank in range(3):
            run.call(rank, "Bcast", peer=0, num_elements=1, num_bytes=8, **at)
            pickle = {"num_elements": 21, "num_bytes": 21, "pickled": rank == 0}
            run.call(rank, "Bcast", peer=0, **pickle, **at)
    return name_lower_case(run.trace())


def torch_calls(iterations):
    run = Run(2)
    for rank in range(2):
        for _ in range(iterations):
            run.call(rank, "all_reduce", num_elements=1, num_bytes=8)
            run.call(rank, "barrier")
    return run.trace()


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (persistent, "Allreduce"),
        (nonblocking, "Allreduce"),
        (lower_case_allreduce, "Allreduce"),
        (torch_calls, "all_reduce"),
    ],
)
def test_each_form_is_one_call(make, name):
    traces = {3: make(3), 7: make(7)}
    assert_collectives_per_iteration(traces, 1)
    assert_collectives_per_iteration(traces, 1, names={name})
    assert_collectives_per_iteration(traces, 0, names={"Reduce"})
    assert_messages_per_iteration(traces, 0)
    assert_collective_size(traces[3], 1, 8, names={name})


def test_messages_within_a_lower_case_reduction_are_nobodys_neighbours():
    """All ranks of a row send to rank 0, by way of comm.allreduce."""
    trace = lower_case_allreduce(2)
    assert_neighbours(trace, {rank: set() for rank in range(3)})
    assert not bytes_by_edge(trace)


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [("Gather", "Gatherv", "Gather"), ("Bcast", "Bcast", "Bcast")],
)
def test_a_length_and_its_pickle_are_one_call(first, second, name):
    def trace(iterations):
        run = Run(2)
        for _ in range(iterations):
            for rank in range(2):
                at = {"line": 7, "place": 9}
                run.call(rank, first, peer=0, num_elements=1, num_bytes=8, **at)
                pickle = {"num_elements": 500, "num_bytes": 500, "pickled": rank == 0}
                run.call(rank, second, peer=0, **pickle, **at)
        return name_lower_case(run.trace())

    assert_collectives_per_iteration({3: trace(3), 7: trace(7)}, 1, names={name})
    assert_collective_size(trace(3), 1, 8)
    told = violation(assert_collective_size, trace(3), 600, 8)
    assert told.startswith(f"rank 0 passed a pickle of 500 bytes to comm.{name.lower()} at")


def test_a_call_that_failed_is_none():
    run = Run(2)
    run.call(0, "Allreduce", num_elements=500, num_bytes=4000, error=15)
    assert_collective_size(run.trace(), 1, 8)


def test_a_start_is_of_the_request_that_gives_as_much():
    run = Run(2)
    for rank in range(2):
        sizes = {"Allreduce_init": 8, "Bcast_init": 4000}
        for function, num_bytes in sizes.items():
            run.call(rank, function, num_elements=num_bytes // 8, num_bytes=num_bytes)
        run.call(rank, "Start", num_elements=500, num_bytes=4000)
    traces = {1: Run(2).trace(), 2: run.trace()}
    assert_collectives_per_iteration(traces, 1, names={"Bcast"})
    assert_collectives_per_iteration(traces, 0, names={"Allreduce"})
    assert_collective_size(run.trace(), 1, 8, names={"Allreduce"})
    violation(assert_collective_size, run.trace(), 1, 8)


def test_two_broadcasts_of_one_line_are_two_calls():
    """A loop over a number and an array, by one instruction: nothing there is a pickle."""
    run = Run(2)
    for rank in range(2):
        for length in (1, 500):
            run.call(rank, "Bcast", peer=0, num_elements=length, num_bytes=length, line=7, place=9)
    traces = {1: Run(2).trace(), 2: run.trace()}
    assert_collectives_per_iteration(traces, 2)


@pytest.mark.parametrize("root", [0, 1])
def test_a_lower_case_reduce_is_one_call_on_every_rank(root):
    def trace(iterations):
        run = Run(3, communicator=OWN)
        at = {"line": 3, "place": 8}
        for rank in range(3):
            run.call(rank, "Comm_dup", communicator=0, **at)
        for _ in range(iterations):
            for source, dest in [(1, 0), (2, 0)] + ([(0, 1)] if root else []):
                run.send(source, dest, **at)
                run.send(source, dest, num_elements=21, num_bytes=21, pickled=True, **at)
                run.recv(dest, source, **at)
                run.recv(dest, source, num_elements=21, num_bytes=21, **at)
        return name_lower_case(run.trace())

    assert_collectives_per_iteration({2: trace(2), 5: trace(5)}, 1, names={"Reduce"})


# Sizes ---------------------------------------------------------------------------------------


def test_a_vector_where_a_number_is_expected_is_told():
    trace = solver(2, num_elements=64)
    assert_collective_size(trace, 64, 8)
    assert_collective_size(trace, 1, 8, names={"Bcast"})
    assert violation(assert_collective_size, trace, 1, 8) == (
        "rank 0 passed 64 elements (512 bytes) to Allreduce at ring.py:30; expected 1 element of 8 "
        "bytes in each call"
    )
    assert "expected 1 to 3 elements of" in violation(assert_collective_size, trace, (1, 3), 8)


def test_elements_of_a_derived_datatype_are_counted_by_their_bytes():
    """One element of a type that holds sixty-four numbers."""
    run = Run(2)
    run.call(0, "Allreduce", num_elements=1, num_bytes=512)
    violation(assert_collective_size, run.trace(), 1, 8)


def test_a_size_that_is_not_recorded_proves_nothing():
    run = Run(2)
    run.call(0, "Alltoallv")
    with pytest.raises(NotProven, match="how much rank 0 passed to Alltoallv at"):
        assert_collective_size(run.trace(), 1, 8)
    assert_collective_size(run.trace(), 1, 8, names={"Allreduce"})
