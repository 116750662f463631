import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    recv[...] = send
    chunks = np.array_split(recv.reshape(-1), size)
    left, right = (rank - 1) % size, (rank + 1) % size
    for i in range(size - 1):
        s, r = (rank - i) % size, (rank - i - 1) % size
        buf = np.empty_like(chunks[r])
        reqs = [comm.Isend([chunks[s], MPI.DOUBLE], dest=right), comm.Irecv([buf, MPI.DOUBLE], source=left)]
        MPI.Request.Waitall(reqs)
        chunks[r][:] = op(chunks[r], buf)
    for i in range(size - 1):
        s, r = (rank + 1 - i) % size, (rank - i) % size
        reqs = [comm.Isend([chunks[s], MPI.DOUBLE], dest=right), comm.Irecv([chunks[r], MPI.DOUBLE], source=left)]
        MPI.Request.Waitall(reqs)
