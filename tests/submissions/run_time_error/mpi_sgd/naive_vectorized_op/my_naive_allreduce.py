import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    combine = np.vectorize(op)
    rank, size = comm.Get_rank(), comm.Get_size()
    result = send
    requests = [comm.Isend(send, dest=p) for p in range(size) if p != rank]
    for p in range(size):
        if p != rank:
            other = np.empty_like(send)
            comm.Irecv(other, source=p).Wait()
            result = combine(result, other)
    MPI.Request.Waitall(requests)
    recv[...] = result
