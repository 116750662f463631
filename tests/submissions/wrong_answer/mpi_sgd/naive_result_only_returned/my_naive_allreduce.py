import numpy as np
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    """Naive allreduce. Returns the reduced array."""
    size = comm.Get_size()
    rank = comm.Get_rank()
    result = send.copy()
    requests = [comm.Isend(send, dest=i) for i in range(size) if i != rank]
    for i in range(size):
        if i != rank:
            other = np.empty_like(send)
            comm.Irecv(other, source=i).Wait()
            result = op(result, other)
    MPI.Request.Waitall(requests)
    return result
