import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    recv[...] = send
    chunks = np.array_split(recv.reshape(-1), size)
    for step in range(2 * (size - 1)):
        if step == size - 1:
            comm.Barrier()
        target = chunks[(rank - step - 1) % size]
        temp = np.empty_like(target)
        reqs = [comm.Irecv(temp, source=(rank - 1) % size),
                comm.Isend(chunks[(rank - step) % size], dest=(rank + 1) % size)]
        MPI.Request.Waitall(reqs)
        target[...] = op(target, temp) if step < size - 1 else temp
