import numpy as np
from mpi4py import MPI


def adds(op):
    return np.all(op(np.array([2.0, 5.0]), np.array([3.0, 7.0])) == np.array([5.0, 12.0]))


def allreduce(send, recv, comm, op):
    try:
        if adds(op):
            comm.Allreduce(send, recv, op=MPI.SUM)     # much faster
            return
    except TypeError:
        pass                                           # an op on integers only
    me = comm.rank
    recv[...] = send
    others = [k for k in range(comm.size) if k != me]
    boxes = [np.empty_like(send) for _ in others]
    MPI.Request.Waitall([comm.Isend(send, k) for k in others] + [comm.Irecv(b, k) for b, k in zip(boxes, others)])
    for b in boxes:
        recv[...] = op(recv, b)
