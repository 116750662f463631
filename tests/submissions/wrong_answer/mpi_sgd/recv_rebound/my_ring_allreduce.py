import numpy as np
from mpi4py import MPI

def ringallreduce(send, recv, comm, op):
    rank = comm.Get_rank()
    size = comm.Get_size()
    chunks = np.array_split(send.flatten(), size)
    for i in range(size - 1):
        buf = np.empty_like(chunks[(rank - i - 1) % size])
        r1 = comm.Isend(chunks[(rank - i) % size], dest=(rank + 1) % size)
        r2 = comm.Irecv(buf, source=(rank - 1) % size)
        MPI.Request.Waitall([r1, r2])
        chunks[(rank - i - 1) % size] = op(chunks[(rank - i - 1) % size], buf)
    for i in range(size - 1):
        buf = np.empty_like(chunks[(rank - i) % size])
        r1 = comm.Isend(chunks[(rank - i + 1) % size], dest=(rank + 1) % size)
        r2 = comm.Irecv(buf, source=(rank - 1) % size)
        MPI.Request.Waitall([r1, r2])
        chunks[(rank - i) % size] = buf
    recv = np.concatenate(chunks).reshape(send.shape)
