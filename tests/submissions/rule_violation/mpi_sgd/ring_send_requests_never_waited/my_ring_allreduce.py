import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank = comm.Get_rank()
    size = comm.Get_size()
    recv[...] = send
    chunks = np.array_split(recv.reshape(-1), size)
    for step in range(size - 1):
        temp = np.empty_like(chunks[(rank - step - 1) % size])
        comm.Isend(chunks[(rank - step) % size], dest=(rank + 1) % size)
        comm.Irecv(temp, source=(rank - 1) % size).Wait()
        chunks[(rank - step - 1) % size][...] = op(chunks[(rank - step - 1) % size], temp)
    for step in range(size - 1):
        comm.Isend(chunks[(rank + 1 - step) % size], dest=(rank + 1) % size)
        comm.Irecv(chunks[(rank - step) % size], source=(rank - 1) % size).Wait()
