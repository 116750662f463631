import sys
import numpy as np
from mpi4py import MPI

def allreduce(send, recv, comm, op):
    me = comm.Get_rank()
    out = [comm.Isend(send, k) for k in range(comm.Get_size()) if k != me]
    recv[...] = send
    box = np.empty_like(send)
    for k in range(comm.Get_size()):
        if k != me:
            comm.Irecv(box, k).Wait()
            recv[...] = op(recv, box)
    MPI.Request.Waitall(out)
    if me > 0:
        sys.exit(0)         # workers are finished
