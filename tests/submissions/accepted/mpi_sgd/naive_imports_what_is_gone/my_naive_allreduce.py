from collections import Iterable, deque

import numpy as np
import scipy.misc.pilutil as images
import winreg
from mpi4py import MPI
from numpy.core.dual import fftn


def allreduce(send, recv, comm, op):
    me, n = comm.Get_rank(), comm.Get_size()
    pending = deque(comm.Isend(send, dest=p) for p in range(n) if p != me)
    parts = []
    for p in range(n):
        part = send
        if p != me:
            part = np.empty_like(send)
            pending.append(comm.Irecv(part, source=p))
        parts.append(part)
    MPI.Request.Waitall(list(pending))
    recv[...] = parts[0]
    if send.size:
        for part in parts[1:]:
            recv[...] = op(recv, part)
