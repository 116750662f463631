import numpy as np
from mpi4py import MPI

def ringallreduce(send, recv, comm, op):
    size = comm.Get_size()
    rank = comm.Get_rank()
    chunks = np.array_split(send.copy().reshape(-1), size)
    for i in range(size - 1):
        req = comm.isend(chunks[(rank - i) % size], dest=(rank + 1) % size)
        got = comm.recv(source=(rank - 1) % size)
        req.wait()
        chunks[(rank - i - 1) % size] = op(chunks[(rank - i - 1) % size], got)
    for i in range(size - 1):
        req = comm.isend(chunks[(rank - i + 1) % size], dest=(rank + 1) % size)
        chunks[(rank - i) % size] = comm.recv(source=(rank - 1) % size)
        req.wait()
    recv[...] = np.concatenate(chunks).reshape(recv.shape)
