"""What Open MPI itself counts of a rank's messages, next to what the interposer records of them."""

import pytest

from grader.judge.explanation.trace_doubts import miscounts
from grader.trace.calls import Counted, Trace

HEAD = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
other = (rank + 1) % size
there, back = np.zeros(100), np.zeros(100)

def exchange(send):
    receive = comm.Irecv(back, source=(rank - 1) % size, tag=5)
    send()
    receive.Wait()
"""

PROGRAMS = {
    "kinds of sends": """
        exchange(lambda: comm.Send(there[:3], dest=other, tag=5))
        exchange(lambda: comm.Ssend(there, dest=other, tag=5))
        exchange(lambda: comm.Rsend(there[:0], dest=other, tag=5))
        exchange(lambda: comm.Isend(there, dest=other, tag=5).Wait())
        exchange(lambda: comm.Issend(there, dest=other, tag=5).Wait())
        """,
    "large": """
        there, back = np.zeros(10**6), np.zeros(10**6)
        exchange(lambda: comm.Send(there, dest=other, tag=5))
        """,
    "buffered": """
        MPI.Attach_buffer(MPI.Alloc_mem(10**5))
        exchange(lambda: comm.Bsend(there, dest=other, tag=5))
        exchange(lambda: comm.Ibsend(there, dest=other, tag=5).Wait())
        """,
    "pickled": """
        comm.sendrecv(list(range(100)), dest=other, source=(rank - 1) % size)
        """,
    "exchanges": """
        comm.Sendrecv(there, other, 1, back, (rank - 1) % size, 1)
        comm.Sendrecv_replace(there, other, 1, (rank - 1) % size, 1)
        """,
    "to oneself and to nobody": """
        receive = comm.Irecv(back, source=rank)
        comm.Send(there, dest=rank)
        receive.Wait()
        comm.Send(there, dest=MPI.PROC_NULL)
        """,
    "persistent": """
        send = comm.Send_init(there, dest=other)
        receive = comm.Recv_init(back, source=(rank - 1) % size)
        for _ in range(3):
            MPI.Prequest.Startall([receive, send])
            MPI.Request.Waitall([receive, send])
        send.Free(), receive.Free()
        """,
    "cancelled": """
        send = comm.Issend(there, dest=other, tag=9)
        send.Cancel()
        comm.Irecv(back, source=(rank - 1) % size, tag=9).Wait()
        send.Wait()
        """,
    "strided": """
        kind = MPI.DOUBLE.Create_vector(10, 1, 3).Commit()
        receive = comm.Irecv([back, 1, kind], source=(rank - 1) % size)
        comm.Send([there, 1, kind], dest=other)
        receive.Wait()
        """,
    "other communicators": """
        turned = comm.Split(0, -rank)
        turned.sendrecv(b"x" * (rank + 1), dest=(turned.rank + 1) % size)
        half = comm.Split(rank % 2, rank)
        between = half.Create_intercomm(0, comm, 1 - rank % 2, 9)
        if rank % 2:
            between.send(5, dest=0)
        elif half.rank == 0:
            for source in range(between.remote_size):
                between.recv(source=source)
        merged = between.Merge()
        merged.allreduce(1)
        made = comm.Create_group(comm.group, tag=3)
        for each in (made, merged, between, half, turned):
            each.Free()
        """,
    "collectives": """
        comm.Allreduce(there, back)
        comm.Bcast(there)
        comm.gather(rank)
        comm.Iallreduce(there, back).Wait()
        comm.Barrier()
        """,
}


def program(body):
    lines = body.split("\n")
    return "\n".join([HEAD, *(line.removeprefix(" " * 8) for line in lines)])


def counted_by(run):
    return [memory.counted((0, 1)) for memory in run.memories]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("synchronous", [False, True], ids=["as called", "rendezvous"])
def test_both_witnesses_agree(launch, name, synchronous):
    """Messages and bytes to every rank, whatever the program does; on three ranks."""
    with launch(program(PROGRAMS[name]), 3, synchronous_sends=synchronous) as run:
        ranks = run.finish()
        after = counted_by(run)
        assert None not in after
        before = [Counted((), ())] * 3
        assert list(miscounts(Trace(tuple(ranks)), before, after)) == []


def test_what_is_counted(launch):
    """By receiver, as posted; what collectives send inside does not count."""
    body = """
        exchange(lambda: comm.Send(there, dest=other, tag=5))
        comm.Allreduce(there, back)
        """
    with launch(program(body), 2) as run:
        run.finish()
        assert counted_by(run) == [Counted((0, 1), (0, 800)), Counted((1, 0), (800, 0))]


def test_phases_are_counted_apart(launch):
    """Before, in and after the student's phase; what is sent in a pause counts nowhere."""
    body = """
        for level, length in ((0, 1), (1, 2), (2, 4), (1, 8), (0, 16)):
            MPI.Pcontrol(level)
            exchange(lambda: comm.Send(there[:length], dest=other, tag=5))
        """
    with launch(program(body), 2) as run:
        run.finish()
        memory = run.memories[0]
        assert memory.counted((0,)) == Counted((0, 2), (0, 8 * 17))
        assert memory.counted((1,)) == Counted((0, 2), (0, 8 * 10))


def test_a_message_inside_a_function_that_mpi_calls(launch):
    """It leaves no record, but MPI counts it; and that there was such a call is counted as well."""
    body = """
        def copy(of, key, value):
            of.sendrecv(5, dest=other, source=(rank - 1) % size)
        comm.Dup().Free()
        comm.Set_attr(MPI.Comm.Create_keyval(copy_fn=copy), 1)
        comm.Dup().Free()
        """
    with launch(program(body), 2) as run:
        ranks = run.finish()
        before = [Counted((), ())] * 2
        doubts = list(miscounts(Trace(tuple(ranks)), before, counted_by(run)))
        assert len(doubts) == 2
        said = "recorded 0 messages to rank 1 (0 bytes), but MPI itself counted 1"
        assert said in doubts[0].text
        assert [memory.num_nested() > 0 for memory in run.memories] == [True, True]


def test_honest_callbacks_are_not_nested_calls(launch):
    """MPI calls functions of the program, which call nothing; and makes calls of its own."""
    body = """
        add = MPI.Op.Create(lambda a, b, kind: None)
        comm.Allreduce(there, back, op=add)
        comm.Set_attr(MPI.Comm.Create_keyval(copy_fn=lambda of, key, value: value), 1)
        comm.Dup().Free()
        window = MPI.Win.Create(there, comm=comm)
        window.Fence()
        window.Free()
        """
    with launch(program(body), 2) as run:
        run.finish()
        assert [memory.num_nested() for memory in run.memories] == [0, 0]


def test_messages_of_mpi_belong_to_recorded_calls(launch):
    """Also where a collective goes on while a program polls, or computes in another call."""
    body = """
        many, all_of_them = np.ones(100_000), np.empty(100 * size)
        for _ in range(5):
            request = comm.Iallreduce(MPI.IN_PLACE, many)
            while not request.Test():
                comm.Iprobe(source=other)
            request = comm.Iallgather(there, all_of_them)
            exchange(lambda: comm.Send(there, dest=other, tag=5))
            while not MPI.Request.Testall([request]):
                comm.improbe(source=other)
            request = comm.Iallreduce(MPI.IN_PLACE, many)
            while not request.Get_status():
                MPI.Request.Testsome([request])
        comm.allgather({"name": many[:50]}), comm.Dup().Free(), comm.Split(rank).Free()
        window = MPI.Win.Create(there, comm=comm)
        window.Fence(), window.Put(there, other), window.Fence()
        window.Free()
        """
    with launch(program(body), 3) as run:
        run.finish()
        assert [memory.num_beside_calls() for memory in run.memories] == [0, 0, 0]


@pytest.mark.parametrize("name", ["Allgather", "Iallgather", "Allreduce"])
def test_messages_of_mpi_in_calls_by_other_names(name, launch):
    """PMPI's names are no wrappers of ours, but what their collectives send is seen."""
    arguments = {
        "Allgather": "sent, 100, kind, got, 100, kind, handle(comm)",
        "Iallgather": "sent, 100, kind, got, 100, kind, handle(comm), request",
        "Allreduce": "sent, got, 100, kind, handle(MPI.SUM), handle(comm)",
    }
    body = f"""
        from ctypes import CDLL, c_void_p
        handle = lambda of: c_void_p.from_address(MPI._addressof(of))
        path = next(l.split()[-1] for l in open("/proc/self/maps") if "libmpi.so" in l)
        back, started = np.zeros(100 * size), MPI.Request()
        sent, got = c_void_p(there.ctypes.data), c_void_p(back.ctypes.data)
        kind, request = handle(MPI.DOUBLE), c_void_p(MPI._addressof(started))
        assert CDLL(path).PMPI_{name}({arguments[name]}) == 0
        started.Wait()
        """
    with launch(program(body), 2) as run:
        run.finish()
        assert all(memory.num_beside_calls() > 0 for memory in run.memories)


def test_without_the_component_nothing_is_counted(launch):
    """Plain mpirun does not load it: then MPI counts nothing."""
    with launch(program(""), 1, is_monitored=False) as run:
        run.finish()
        assert counted_by(run) == [None]
