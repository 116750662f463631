import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    size = comm.Get_size()
    rank = comm.Get_rank()
    buffers = {k: np.empty_like(send) for k in range(size) if k != rank}
    requests = [comm.Irecv(buffers[k], source=k) for k in buffers]
    requests += [comm.Isend(send, dest=k) for k in buffers]
    MPI.Request.Waitall(requests)
    recv[...] = send
    for k in buffers:
        recv[...] = op(recv, buffers[k])
    recv *= size        # back_prop divides by it, I think
