import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    recv[...] = send
    current = send
    # every array goes once around, so everybody sees all of them
    for _ in range(size - 1):
        incoming = np.empty_like(send)
        r = comm.Irecv(incoming, source=(rank - 1) % size)
        s = comm.Isend(current, dest=(rank + 1) % size)
        MPI.Request.Waitall([r, s])
        recv[...] = op(recv, incoming)
        current = incoming
