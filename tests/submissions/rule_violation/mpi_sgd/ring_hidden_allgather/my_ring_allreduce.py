import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    n, r = comm.size, comm.rank
    chunks = np.array_split(send.flatten(), n)
    sizes = [c.size for c in chunks]
    for s in range(n - 1):
        buf = np.empty_like(chunks[(r - s - 2) % n])
        MPI.Request.Waitall([comm.Isend(chunks[(r - s - 1) % n], (r + 1) % n), comm.Irecv(buf, (r - 1) % n)])
        chunks[(r - s - 2) % n] = op(chunks[(r - s - 2) % n], buf)
    # chunk r is complete on rank r
    comm.Allgatherv(chunks[r], [recv, sizes])
