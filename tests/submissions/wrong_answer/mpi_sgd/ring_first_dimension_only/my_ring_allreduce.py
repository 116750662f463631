import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    recv[...] = send
    flat = recv.ravel()
    length = len(np.atleast_1d(send))
    starts = [length * k // size for k in range(size + 1)]

    def part(k):
        return flat[starts[k % size]:starts[k % size + 1]]

    # scatter-reduce
    for step in range(size - 1):
        tmp = np.empty_like(part(rank - step - 1))
        reqs = [comm.Isend(part(rank - step), dest=(rank + 1) % size),
                comm.Irecv(tmp, source=(rank - 1) % size)]
        MPI.Request.Waitall(reqs)
        part(rank - step - 1)[:] = op(part(rank - step - 1), tmp)
    # all-gather
    for step in range(size - 1):
        reqs = [comm.Isend(part(rank - step + 1), dest=(rank + 1) % size),
                comm.Irecv(part(rank - step), source=(rank - 1) % size)]
        MPI.Request.Waitall(reqs)
