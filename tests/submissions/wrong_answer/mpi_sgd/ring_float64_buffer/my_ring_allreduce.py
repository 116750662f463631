import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    result = send.reshape(-1).copy()
    parts = np.array_split(result, size)
    for i in range(size - 1):
        target = parts[(rank - i - 1) % size]
        buffer = np.zeros(target.size)
        reqs = [comm.Isend(parts[(rank - i) % size], dest=(rank + 1) % size),
                comm.Irecv(buffer, source=(rank - 1) % size)]
        MPI.Request.Waitall(reqs)
        # without the cast xor raised a TypeError
        target[:] = op(target, buffer.astype(target.dtype))
    for i in range(size - 1):
        reqs = [comm.Isend(parts[(rank - i + 1) % size], dest=(rank + 1) % size),
                comm.Irecv(parts[(rank - i) % size], source=(rank - 1) % size)]
        MPI.Request.Waitall(reqs)
    recv[...] = result.reshape(recv.shape)
