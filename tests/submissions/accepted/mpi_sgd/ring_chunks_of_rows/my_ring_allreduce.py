import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI
import numpy as np


def ringallreduce(send, recv, comm, op):
    n, me = comm.Get_size(), comm.Get_rank()
    np.copyto(recv, send)
    parts = np.array_split(np.atleast_1d(recv), n)  # along the first axis: whole rows of a matrix stay together
    nxt, prv = (me + 1) % n, (me + n - 1) % n
    for i in range(2 * (n - 1)):
        out, into = parts[(me - i) % n], parts[(me - i - 1) % n]
        buf = np.empty(into.shape, into.dtype)
        r = comm.Irecv(buf, prv)
        s = comm.Isend(out, nxt)
        r.Wait()
        s.Wait()
        if into.size:
            into[...] = op(into, buf) if i < n - 1 else buf
