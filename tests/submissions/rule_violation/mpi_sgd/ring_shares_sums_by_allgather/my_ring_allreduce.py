import mpi4py
import numpy as np

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    recv[...] = send
    flat = recv.reshape(-1)
    lengths = [flat.size // size + (i < flat.size % size) for i in range(size)]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    chunks = [flat[starts[i] : starts[i + 1]] for i in range(size)]
    right, left = (rank + 1) % size, (rank - 1) % size
    for step in range(size - 1):
        mine = chunks[(rank - step - 1) % size]
        theirs = chunks[(rank - step - 2) % size]
        received = np.empty_like(theirs)
        requests = [comm.Isend(mine, right), comm.Irecv(received, left)]
        MPI.Request.Waitall(requests)
        theirs[...] = op(theirs, received)
    # rank r has now the sum of chunk r
    comm.Allgatherv(chunks[rank].copy(), [flat, lengths])
