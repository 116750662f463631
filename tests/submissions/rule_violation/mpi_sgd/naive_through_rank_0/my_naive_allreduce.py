import numpy as np
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    recv[...] = send
    if rank != 0:
        out = comm.Isend(send, dest=0, tag=1)
        back = comm.Irecv(recv, source=0, tag=2)
        MPI.Request.Waitall([out, back])
    else:
        arrays = [np.empty_like(send) for _ in range(size - 1)]
        MPI.Request.Waitall([comm.Irecv(a, source=k + 1, tag=1) for k, a in enumerate(arrays)])
        for a in arrays:
            recv[...] = op(recv, a)
        MPI.Request.Waitall([comm.Isend(recv, dest=k, tag=2) for k in range(1, size)])
