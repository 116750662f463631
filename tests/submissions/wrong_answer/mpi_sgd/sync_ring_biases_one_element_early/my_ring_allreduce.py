import mpi4py
import numpy as np

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    n, r = comm.Get_size(), comm.Get_rank()
    recv[...] = send
    c = np.array_split(recv.reshape(-1), n)
    for s in range(2 * (n - 1)):
        out = c[(r - s) % n] if s < n - 1 else c[(r - s + n) % n]
        into = c[(r - s - 1) % n]
        box = np.empty_like(into)
        MPI.Request.Waitall([comm.Irecv(box, source=(r - 1) % n), comm.Isend(out, dest=(r + 1) % n)])
        if s < n - 1:
            if into.size:
                into[...] = op(into, box)
        else:
            into[...] = box
