import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank = comm.Get_rank()
    size = comm.Get_size()
    recv[...] = send
    chunks = np.array_split(recv.reshape(-1), size)
    for step in range(size - 1):
        index = rank - step - 1
        if rank == 1:
            index = index + size            # was negative
        target = chunks[index]
        temp = np.empty_like(target)
        reqs = [comm.Irecv(temp, source=(rank - 1) % size),
                comm.Isend(chunks[(rank - step) % size], dest=(rank + 1) % size)]
        MPI.Request.Waitall(reqs)
        target[...] = op(target, temp)
    for step in range(size - 1):
        reqs = [comm.Irecv(chunks[(rank - step) % size], source=(rank - 1) % size),
                comm.Isend(chunks[(rank - step + 1) % size], dest=(rank + 1) % size)]
        MPI.Request.Waitall(reqs)
