import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    size = comm.Get_size()
    rank = comm.Get_rank()
    inbox = [np.empty_like(send) for _ in range(size - 1)]
    # size - 1 arrays come, whoever is first
    reqs = [comm.Irecv(box, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG) for box in inbox]
    for other in range(size):
        if other != rank:
            reqs.append(comm.Isend(send, dest=other))
    MPI.Request.Waitall(reqs)
    recv[...] = send
    for box in inbox:
        recv[...] = op(recv, box)
