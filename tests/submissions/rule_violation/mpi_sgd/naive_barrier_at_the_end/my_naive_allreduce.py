import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    rank = comm.Get_rank()
    peers = [p for p in range(comm.Get_size()) if p != rank]
    inbox = [np.empty_like(send) for _ in peers]
    requests = [comm.Irecv(box, source=p) for box, p in zip(inbox, peers)]
    requests += [comm.Isend(send, dest=p) for p in peers]
    MPI.Request.Waitall(requests)
    recv[...] = send
    for box in inbox:
        recv[...] = op(recv, box)
    comm.Barrier()
