import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


calls = 0


def allreduce(send, recv, comm, op):
    global calls
    calls += 1                  # the same on every process
    tag = calls % 30000
    requests = [comm.Isend(send, dest=p, tag=tag) for p in range(comm.size) if p != comm.rank]
    recv[...] = send
    box = np.empty_like(send)
    for _ in range(comm.size - 1):
        comm.Irecv(box, source=MPI.ANY_SOURCE, tag=tag).Wait()
        recv[...] = op(recv, box)
    MPI.Request.Waitall(requests)
