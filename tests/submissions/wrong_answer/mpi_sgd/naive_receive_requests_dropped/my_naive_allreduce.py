import numpy as np
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    size, rank = comm.Get_size(), comm.Get_rank()
    everybody = {rank: send}
    sends = []
    for p in range(size):
        if p == rank:
            continue
        everybody[p] = np.empty_like(send)
        comm.Irecv(everybody[p], source=p)
        sends.append(comm.Isend(send, dest=p))
    MPI.Request.Waitall(sends)
    total = everybody[0].copy()
    for p in range(1, size):
        if total.size:
            total = op(total, everybody[p])
    recv[...] = total
