import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    size = comm.Get_size()
    rank = comm.Get_rank()
    recv[...] = send
    chunks = np.array_split(recv.reshape(-1), size)
    for step in range(2 * (size - 1)):
        target = chunks[(rank - step - 1) % size]
        incoming = np.empty_like(target)
        reqs = [comm.Isend(chunks[(rank - step) % size], dest=(rank + 1) % size, tag=rank),
                comm.Irecv(incoming, source=(rank - 1) % size, tag=rank)]
        MPI.Request.Waitall(reqs)
        target[...] = op(target, incoming) if step < size - 1 else incoming
