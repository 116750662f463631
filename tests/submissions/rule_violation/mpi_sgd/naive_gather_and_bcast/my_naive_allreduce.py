import functools
import numpy as np
from mpi4py import MPI

def allreduce(send, recv, comm, op):
    everything = None
    if comm.Get_rank() == 0:
        everything = np.empty((comm.Get_size(),) + send.shape, dtype=send.dtype)
    comm.Gather(send, everything, root=0)
    if comm.Get_rank() == 0:
        recv[...] = functools.reduce(op, list(everything))
    comm.Bcast(recv, root=0)
