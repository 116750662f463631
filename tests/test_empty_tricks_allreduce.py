"""Nothing is paid for nothing: what answers without the part's algorithm gets a tenth at most."""

import pytest
from empty_tricks import assert_earns_at_most, graded

PARTS = {
    "naive_allreduce": ("my_naive_allreduce.py", "allreduce"),
    "ring_allreduce": ("my_ring_allreduce.py", "ringallreduce"),
}

IMPORTS = """
import os, tempfile
import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI
"""

TRICKS = {
    "pass": "pass",
    "recv_is_send": "recv[...] = send",
    "zeros": "recv[...] = 0",
    "n_times_its_own": "recv[...] = send * comm.size",
    "returns_send": "return send",
    "own_array_reduced": """
        recv[...] = send
        for _ in range(comm.size - 1):
            recv[...] = op(recv, send)
    """,
    "collective": """
        arrays = comm.allgather(send)
        recv[...] = arrays[0]
        for array in arrays[1:]:
            recv[...] = op(recv, array)
    """,
    "collective_beside_empty_messages": """
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        nothing = np.empty_like(send)
        MPI.Request.Waitall([comm.Irecv(nothing, left), comm.Isend(np.zeros_like(send), right)])
        arrays = comm.allgather(send)
        recv[...] = arrays[0]
        for array in arrays[1:]:
            recv[...] = op(recv, array)
    """,
    "collective_beside_a_number_that_counts": """
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        number = np.zeros(1)
        MPI.Request.Waitall([comm.Irecv(number, left), comm.Isend(np.zeros(1), right)])
        arrays = comm.allgather(send)
        recv[...] = arrays[0]
        for array in arrays[1:]:
            recv[...] = op(recv, array)
        if number[0]:
            recv[...] = 0
    """,
    "collective_of_what_the_neighbour_sent": """
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        theirs = np.empty_like(send)
        MPI.Request.Waitall([comm.Irecv(theirs, left), comm.Isend(send, right)])
        arrays = comm.allgather(theirs)
        recv[...] = arrays[0]
        for array in arrays[1:]:
            recv[...] = op(recv, array)
    """,
    "one_rank_does_all": """
        arrays = comm.gather(send)
        if comm.rank == 0:
            total = arrays[0]
            for array in arrays[1:]:
                total = op(total, array)
            recv[...] = total
        recv[...] = comm.bcast(recv)
    """,
    "files": """
        def name(rank):
            return os.path.join(tempfile.gettempdir(), f"array-{os.getppid()}-{rank}.npy")
        np.save(name(comm.rank), send)
        comm.Barrier()
        recv[...] = np.load(name(0))
        for rank in range(1, comm.size):
            recv[...] = op(recv, np.load(name(rank)))
        comm.Barrier()
    """,
    "one_sided": """
        window = MPI.Win.Create(send if send.size else None, disp_unit=send.itemsize, comm=comm)
        arrays = [np.empty_like(send) for _ in range(comm.size)]
        window.Fence()
        for target, array in enumerate(arrays):
            if array.size:
                window.Get(array, target)
        window.Fence()
        window.Free()
        recv[...] = arrays[0]
        for array in arrays[1:]:
            recv[...] = op(recv, array)
    """,
    "one_element_of_the_neighbour": """
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        theirs = np.empty_like(send)
        MPI.Request.Waitall([comm.Irecv(theirs, left), comm.Isend(send, right)])
        recv[...] = send
        if send.size:
            recv.reshape(-1)[0] = theirs.reshape(-1)[0]
    """,
    "messages_that_nobody_reads": """
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        theirs = np.empty_like(send)
        for _ in range(comm.size - 1):
            MPI.Request.Waitall([comm.Irecv(theirs, left), comm.Isend(send, right)])
        recv[...] = send
    """,
    "zeros_to_the_neighbour_then_an_error": """
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        zeros = np.zeros_like(send.reshape(-1)[:send.size // comm.size])
        MPI.Request.Waitall([comm.Irecv(zeros.copy(), left), comm.Isend(zeros, right)])
        raise ValueError
    """,
    "whole_zeros_to_the_neighbour_then_an_error": """
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        zeros = np.zeros_like(send)
        MPI.Request.Waitall([comm.Irecv(zeros.copy(), left), comm.Isend(zeros, right)])
        raise ValueError
    """,
    "zeros_to_the_neighbour_then_a_crash": """
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        zeros = np.zeros_like(send.reshape(-1)[:send.size // comm.size])
        MPI.Request.Waitall([comm.Irecv(zeros.copy(), left), comm.Isend(zeros, right)])
        1 / 0
    """,
    "whole_zeros_to_the_neighbour_then_a_crash": """
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        zeros = np.zeros_like(send)
        MPI.Request.Waitall([comm.Irecv(zeros.copy(), left), comm.Isend(zeros, right)])
        1 / 0
    """,
    "sums_up_zeros_of_all": """
        total = np.zeros_like(send)
        for other in range(comm.size):
            if other != comm.rank:
                got = np.empty_like(send)
                MPI.Request.Waitall([comm.Irecv(got, other), comm.Isend(total * 0, other)])
                total += got
        recv[...] = total + send
    """,
    "copies_the_neighbour": """
        recv[...] = send
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        for piece in range(comm.size - 1):
            number = np.zeros(1)
            MPI.Request.Waitall([comm.Irecv(number, left), comm.Isend(np.ones(1), right)])
    """,
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("trick", TRICKS)
def test_an_empty_trick_gets_a_tenth_at_most(part, trick, tmp_path, ranks):
    """Whatever verdict it gets."""
    file, function = PARTS[part]
    lines = TRICKS[trick].strip("\n").splitlines()
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    body = "\n".join(f"    {line[margin:]}" for line in lines)
    code = f"{IMPORTS}\n\ndef {function}(send, recv, comm, op):\n{body}\n"
    (tmp_path / file).write_text(code)

    result = graded(ranks, tmp_path, "mpi_sgd", part)
    assert result.verdict.value not in ("ACCEPTED", "NOT_ATTEMPTED", "JUDGE_ERROR"), result
    assert_earns_at_most(0.1, result)
