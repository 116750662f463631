"""Collective calls as a program makes them, of the MPI and the mpi4py of this machine."""

import pytest

from grader.judge.traffic.collective_calls import collective_calls, messages_of, name_lower_case
from grader.trace.calls import Trace

HEAD = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
x, sums, all_of_it = np.ones(4), np.ones(4), np.ones(4 * size)
MPI.Pcontrol(1)
"""


@pytest.mark.parametrize(
    ("call", "function"),
    [
        ("comm.allreduce(1.5)", "Allreduce"),
        ("comm.allreduce(np.float64(1.5))", "Allreduce"),
        ("comm.reduce(1.5)", "Reduce"),
        ("comm.reduce(1.5, root=1)", "Reduce"),
        ("comm.bcast(1.5, root=1)", "Bcast"),
        ("comm.allgather(1.5)", "Allgather"),
        ("comm.gather(1.5, root=2)", "Gather"),
        ("comm.scatter([1.5] * size)", "Scatter"),
        ("comm.alltoall([1.5] * size)", "Alltoall"),
        ("comm.Allreduce(x, sums)", "Allreduce"),
        ("comm.Allreduce(MPI.IN_PLACE, sums)", "Allreduce"),
        ("comm.Iallreduce(x, sums).Wait()", "Allreduce"),
        ("comm.Bcast(x)", "Bcast"),
        ("comm.Allgather(x, all_of_it)", "Allgather"),
    ],
)
def test_each_is_one_call_on_every_rank(launch, call, function):
    """Three calls in a loop, a barrier after each; no message of them is the program's."""
    program = f"{HEAD}\nfor _ in range(3):\n    {call}\n    comm.Barrier()\n"
    with launch(program, 4) as run:
        trace = name_lower_case(Trace(tuple(run.finish())).of_phases({1}))
    for rank in range(4):
        assert [each.function for each in collective_calls(trace, rank)] == [function] * 3
        assert messages_of(trace, rank) == []


def test_each_start_of_a_persistent_one_is_a_call(launch):
    program = f"""{HEAD}
request = comm.Allreduce_init(x, sums)
other = comm.Bcast_init(x[:2])
for _ in range(3):
    request.Start()
    request.Wait()
other.Start()
other.Wait()
"""
    with launch(program, 3) as run:
        trace = Trace(tuple(run.finish())).of_phases({1})
    for rank in range(3):
        found = collective_calls(trace, rank)
        assert [each.function for each in found] == ["Allreduce"] * 3 + ["Bcast"]
        assert [each.call.num_bytes for each in found] == [32, 32, 32, 16]
