import numpy as np
from mpi4py import MPI

AUTHORS = "Jürgen und Zoë"


def ringallreduce(send, recv, comm, op):
    n, r = comm.Get_size(), comm.Get_rank()
    recv[...] = send
    parts = np.array_split(recv.reshape(-1), n)
    for k in range(2 * n - 2):
        box = np.empty_like(parts[(r - k - 1) % n])
        MPI.Request.Waitall([comm.Isend(parts[(r - k) % n], (r + 1) % n), comm.Irecv(box, (r - 1) % n)])
        parts[(r - k - 1) % n][:] = op(parts[(r - k - 1) % n], box) if k < n - 1 else box
