"""All-reduce through one process: stands in for a ring that does not work yet, to grade sync_ring.

Neither a ring nor the naive exchange, so it gives nothing away of the parts that ask for these.
"""

import mpi4py
import numpy as np

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI  # noqa: E402 - the settings above only count before this import

_COLLECTOR = 0


def ringallreduce(send, recv, comm, op):
    """Reduce the send arrays of all processes into recv, the same on every process.

    send, recv: C-contiguous arrays of one shape and dtype; send is not changed.
    op: associative and commutative function (x, y) -> array, element by element.
    """
    others = [rank for rank in range(comm.Get_size()) if rank != _COLLECTOR]
    if comm.Get_rank() != _COLLECTOR:
        handed_over = comm.Isend(send, dest=_COLLECTOR)
        returned = comm.Irecv(recv, source=_COLLECTOR)
        MPI.Request.Waitall([handed_over, returned])
        return

    collected = {rank: np.empty_like(send) for rank in others}
    MPI.Request.Waitall([comm.Irecv(collected[rank], source=rank) for rank in others])
    recv[...] = send
    if send.size:
        for rank in others:
            recv[...] = op(recv, collected[rank])
    MPI.Request.Waitall([comm.Isend(recv, dest=rank) for rank in others])
