import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    size = comm.Get_size()
    rank = comm.Get_rank()
    parts = np.array_split(send.reshape(-1), size)     # split, then work on the parts
    for step in range(size - 1):
        mine = parts[(rank - step - 1) % size]
        tmp = np.empty_like(mine)
        rs = comm.Isend(parts[(rank - step) % size], dest=(rank + 1) % size)
        rr = comm.Irecv(tmp, source=(rank - 1) % size)
        rs.wait()
        rr.wait()
        mine[:] = op(mine, tmp)
    for step in range(size - 1):
        rs = comm.Isend(parts[(rank - step + 1) % size], dest=(rank + 1) % size)
        rr = comm.Irecv(parts[(rank - step) % size], source=(rank - 1) % size)
        rs.wait()
        rr.wait()
    recv[...] = send
