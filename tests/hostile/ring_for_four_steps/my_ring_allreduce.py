import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    left, right = (rank - 1) % size, (rank + 1) % size

    def turn(outgoing, incoming):
        MPI.Request.Waitall([comm.Irecv(incoming, source=left), comm.Isend(outgoing, dest=right)])

    recv[...] = send
    chunks = np.array_split(recv.reshape(-1), size)
    for step in range(size - 1):
        mine = chunks[(rank - step - 1) % size]
        partial = np.empty_like(mine)
        turn(chunks[(rank - step) % size], partial)
        if mine.size:
            mine[...] = op(partial, mine)
    for step in range(size - 1):
        turn(chunks[(rank + 1 - step) % size], chunks[(rank - step) % size])
