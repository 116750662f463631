import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    comm = MPI.COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()
    recv[...] = send
    chunks = np.array_split(recv.reshape(-1), size)
    for step in range(2 * (size - 1)):
        target = chunks[(rank - step - 1) % size]
        incoming = np.empty_like(target)
        MPI.Request.Waitall([
            comm.Irecv(incoming, source=(rank - 1) % size),
            comm.Isend(chunks[(rank - step) % size], dest=(rank + 1) % size),
        ])
        target[...] = op(target, incoming) if step < size - 1 else incoming
