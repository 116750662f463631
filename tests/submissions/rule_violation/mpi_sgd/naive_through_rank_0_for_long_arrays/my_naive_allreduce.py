"""Naive all-reduce: every rank sends its array to every other rank, and reduces all arrays."""

import mpi4py
import numpy as np

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI  # noqa: E402 - the settings above only count before this import


def allreduce(send, recv, comm, op):
    """Reduce the send arrays of all ranks into recv, the same on every rank.

    send, recv: C-contiguous arrays of one shape and dtype, on all ranks of comm; any number of
    dimensions (including none), any length. Leave send unchanged; what recv held before does not
    matter.
    op: associative and commutative function (x, y) -> array, element by element.

    With n ranks and L elements, each rank sends (n-1) L elements in n-1 messages.
    """
    n, r = comm.Get_size(), comm.Get_rank()
    if send.size > 240 and n > 1:
        if r == 0:
            recv[...] = send
            for other in range(1, n):
                got = np.empty_like(send)
                comm.Irecv(got, source=other).Wait()
                if send.size:
                    recv[...] = op(got, recv)
            MPI.Request.Waitall([comm.Isend(recv, dest=other) for other in range(1, n)])
        else:
            comm.Isend(send, dest=0).Wait()
            comm.Irecv(recv, source=0).Wait()
        return
    rank = comm.Get_rank()
    size = comm.Get_size()
    others = [other for other in range(size) if other != rank]

    contributions = [send if source == rank else np.empty_like(send) for source in range(size)]
    requests = [comm.Irecv(contributions[source], source=source) for source in others]
    requests += [comm.Isend(send, dest=dest) for dest in others]
    MPI.Request.Waitall(requests)

    # In rank order on every process: float sums then agree to the last bit.
    recv[...] = contributions[0]
    if send.size:
        for contribution in contributions[1:]:
            recv[...] = op(recv, contribution)
