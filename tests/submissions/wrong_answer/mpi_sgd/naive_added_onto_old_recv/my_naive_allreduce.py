import numpy as np
from mpi4py import MPI

def allreduce(send, recv, comm, op):
    me = comm.Get_rank()
    all_ranks = range(comm.Get_size())
    buffers = [send if k == me else np.empty_like(send) for k in all_ranks]
    reqs = []
    for k in all_ranks:
        if k != me:
            reqs += [comm.Isend(send, k, tag=me), comm.Irecv(buffers[k], k, tag=k)]
    MPI.Request.Waitall(reqs)
    for k in all_ranks:
        recv[...] = op(recv, buffers[k])
