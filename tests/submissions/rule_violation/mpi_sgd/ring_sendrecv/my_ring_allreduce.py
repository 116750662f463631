import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    size, rank = comm.Get_size(), comm.Get_rank()
    nxt, prv = (rank + 1) % size, (rank - 1) % size
    np.copyto(recv, send)
    chunk = np.array_split(recv.reshape(-1), size)

    for step in range(size - 1):
        tmp = np.empty_like(chunk[(rank - step - 1) % size])
        comm.Sendrecv(chunk[(rank - step) % size], dest=nxt, recvbuf=tmp, source=prv)
        chunk[(rank - step - 1) % size][:] = op(chunk[(rank - step - 1) % size], tmp)
    for step in range(size - 1):
        comm.Sendrecv(chunk[(rank - step + 1) % size], dest=nxt,
                      recvbuf=chunk[(rank - step) % size], source=prv)
