import numpy as np
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    me = comm.Get_rank()
    n = comm.Get_size()

    # give my array to everyone else
    for other in range(n):
        if other != me:
            comm.Isend(send, dest=other, tag=0)

    # and collect theirs
    recv[...] = send
    theirs = np.empty_like(send)
    for other in range(n):
        if other != me:
            comm.Irecv(theirs, source=other, tag=0).Wait()
            recv[...] = op(recv, theirs)
