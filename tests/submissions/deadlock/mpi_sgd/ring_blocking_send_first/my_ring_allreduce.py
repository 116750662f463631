import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank = comm.Get_rank()
    size = comm.Get_size()
    recv[...] = send
    chunks = np.array_split(recv.reshape(-1), size)
    for i in range(size - 1):
        temp = np.empty_like(chunks[(rank - i - 1) % size])
        comm.Send(chunks[(rank - i) % size], dest=(rank + 1) % size)
        comm.Recv(temp, source=(rank - 1) % size)
        chunks[(rank - i - 1) % size][:] = op(chunks[(rank - i - 1) % size], temp)
    for i in range(size - 1):
        comm.Send(chunks[(rank - i + 1) % size], dest=(rank + 1) % size)
        comm.Recv(chunks[(rank - i) % size], source=(rank - 1) % size)
