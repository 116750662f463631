"""Ring all-reduce: reduce-scatter, then all-gather (Patarasuk and Yuan 2009)."""

import mpi4py
import numpy as np

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI  # noqa: E402 - the settings above only count before this import


def ringallreduce(send, recv, comm, op):
    """Reduce the send arrays of all ranks into recv, the same on every rank."""
    rank, n = comm.Get_rank(), comm.Get_size()
    left, right = (rank - 1) % n, (rank + 1) % n

    recv[...] = send
    flat = recv.reshape(-1)  # recv is C-contiguous, so this is a view
    border = [flat.size * i // n for i in range(n + 1)]

    def chunk(i):
        return flat[border[i % n] : border[i % n + 1]]

    def exchange(out, into, tag):
        receiving = comm.Irecv(into, source=left, tag=tag)
        sending = comm.Isend(out, dest=right, tag=tag)
        MPI.Request.Waitall([receiving, sending])

    for step in range(n - 1):
        mine = chunk(rank - step - 1)
        other = np.empty_like(mine)
        exchange(chunk(rank - step), other, step)
        mine[...] = op(mine, other)

    for step in range(n - 1):
        exchange(chunk(rank + 1 - step), chunk(rank - step), n + step)
