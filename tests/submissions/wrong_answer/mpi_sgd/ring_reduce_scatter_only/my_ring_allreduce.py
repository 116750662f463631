import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    recv[...] = send
    chunks = np.array_split(recv.reshape(-1), size)
    for step in range(size - 1):
        mine = chunks[(rank - step - 1) % size]
        incoming = np.empty_like(mine)
        requests = [comm.Irecv(incoming, source=left),
                    comm.Isend(chunks[(rank - step) % size], dest=right)]
        MPI.Request.Waitall(requests)
        mine[...] = op(mine, incoming)
