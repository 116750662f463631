import numpy as np
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    boxes = {rank: np.empty_like(send) for rank in others}
    for time in range(1000):
        requests = [comm.Irecv(boxes[rank], source=rank, tag=time % 7) for rank in others]
        requests += [comm.Isend(send, dest=rank, tag=time % 7) for rank in others]
        MPI.Request.Waitall(requests)
    recv[...] = send
    for rank in others:
        if send.size:
            recv[...] = op(recv, boxes[rank])
