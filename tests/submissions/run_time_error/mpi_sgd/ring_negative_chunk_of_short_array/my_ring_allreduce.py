import math
import numpy as np
from mpi4py import MPI


def bounds(length, size, k):
    chunk = math.ceil(length / size)
    start = k * chunk
    end = min(start + chunk, length)
    return start, end


def ringallreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    flat = recv.reshape(-1)
    flat[:] = send.reshape(-1)
    for i in range(2 * (size - 1)):
        s0, s1 = bounds(flat.size, size, (rank - i) % size)
        r0, r1 = bounds(flat.size, size, (rank - i - 1) % size)
        temp = np.empty(r1 - r0, dtype=flat.dtype)
        reqs = [comm.Irecv(temp, source=(rank - 1) % size),
                comm.Isend(flat[s0:s1], dest=(rank + 1) % size)]
        MPI.Request.Waitall(reqs)
        flat[r0:r1] = op(flat[r0:r1], temp) if i < size - 1 else temp
