import numpy as np
from numpy.lib.stride_tricks import as_strided
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    size, rank = comm.Get_size(), comm.Get_rank()
    chunk = send.size // size
    # chunks as rows of a matrix, without copying (stride in elements, not in bytes?)
    rows = as_strided(send.reshape(-1), shape=(size + 1, chunk + 1), strides=(1 << 40, send.itemsize))
    recv[...] = op(rows[rank, 0], rows[(rank + 1) % (size + 1), 0])
