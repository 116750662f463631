import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank = comm.Get_rank()
    size = comm.Get_size()
    passing_on = send.copy()
    recv[...] = send
    for i in range(size - 1):
        arriving = np.empty_like(send)
        requests = [comm.Isend(passing_on, dest=(rank + 1) % size),
                    comm.Irecv(arriving, source=(rank - 1) % size)]
        MPI.Request.Waitall(requests)
        recv[...] = op(recv, arriving)
        passing_on = arriving
