import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    recv[...] = send
    requests = []
    boxes = []
    for p in range(size):
        if p != rank:
            boxes.append(np.zeros_like(send))
            requests.append(comm.Irecv(boxes[-1], source=p))
            recv[...] = op(recv, boxes[-1])
    for p in range(size):
        if p != rank:
            requests.append(comm.Isend(send, dest=p))
    MPI.Request.Waitall(requests)
