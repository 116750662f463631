import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank = MPI.COMM_WORLD.Get_rank()
    size = comm.Get_size()
    recv[...] = send
    flat = recv.reshape(-1)
    ends = [flat.size * k // size for k in range(size + 1)]
    piece = lambda k: flat[ends[k % size]:ends[k % size + 1]]
    for step in range(2 * size - 2):
        box = np.empty_like(piece(rank - step - 1))
        requests = [comm.Irecv(box, source=(rank - 1) % size),
                    comm.Isend(piece(rank - step), dest=(rank + 1) % size)]
        MPI.Request.Waitall(requests)
        piece(rank - step - 1)[:] = op(piece(rank - step - 1), box) if step < size - 1 else box
