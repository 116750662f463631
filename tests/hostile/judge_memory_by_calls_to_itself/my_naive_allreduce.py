import numpy as np
from mpi4py import MPI

EMPTY = np.empty(0)


def talk_to_oneself(comm):
    me = comm.Get_rank()
    for number in range(150):
        requests = [comm.Irecv(EMPTY, source=me, tag=number) for _ in range(100)]
        requests += [comm.Isend(EMPTY, dest=me, tag=number) for _ in range(100)]
        MPI.Request.Waitall(requests)


def allreduce(send, recv, comm, op):
    talk_to_oneself(comm)
    me, n = comm.Get_rank(), comm.Get_size()
    got = np.empty((n, *send.shape), dtype=send.dtype)
    others = [(me + k) % n for k in range(1, n)]
    pending = [comm.Irecv(got[k, ...], source=k) for k in others]
    pending += [comm.Isend(send, dest=k) for k in others]
    MPI.Request.Waitall(pending)
    recv[...] = send
    if send.size:
        for k in others:
            recv[...] = op(recv, got[k, ...])
