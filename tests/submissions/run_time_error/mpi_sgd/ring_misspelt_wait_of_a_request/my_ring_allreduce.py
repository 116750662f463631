import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    recv[...] = send
    chunks = np.array_split(recv.reshape(-1), size)
    for step in range(2 * (size - 1)):
        outgoing, own = chunks[(rank - step) % size], chunks[(rank - step - 1) % size]
        arriving = np.empty_like(own)
        sent = comm.Isend(outgoing, dest=right)
        comm.Irecv(arriving, source=left).Wait()
        sent.wiat()
        if step >= size - 1:
            own[...] = arriving
        elif own.size:
            own[...] = op(own, arriving)
