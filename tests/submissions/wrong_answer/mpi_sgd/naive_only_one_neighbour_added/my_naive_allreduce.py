import numpy as np
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    box = np.empty_like(send)
    requests = [comm.Irecv(box, source=(rank - 1) % size), comm.Isend(send, dest=(rank + 1) % size)]
    MPI.Request.Waitall(requests)
    recv[...] = op(send, box)
