import numpy as np
from mpi4py import MPI

def ringallreduce(send, recv, comm, op):
    p, me = comm.Get_size(), comm.Get_rank()
    right, left = (me + 1) % p, (me - 1) % p
    recv[...] = send
    c = np.array_split(recv.reshape(-1), p)
    # clockwise: collect
    for k in range(p - 1):
        t = np.empty_like(c[(me - k - 1) % p])
        MPI.Request.Waitall([comm.Isend(c[(me - k) % p], right), comm.Irecv(t, left)])
        c[(me - k - 1) % p][:] = op(t, c[(me - k - 1) % p])
    # and back again: distribute (chunk me + 1 is finished here)
    for k in range(p - 1):
        MPI.Request.Waitall([comm.Isend(c[(me + 1 + k) % p], left),
                             comm.Irecv(c[(me + 2 + k) % p], right)])
