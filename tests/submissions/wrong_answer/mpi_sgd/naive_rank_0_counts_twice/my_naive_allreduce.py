import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    me, n = comm.Get_rank(), comm.Get_size()
    recv[...] = send
    sending = [comm.Isend(send, dest=k) for k in range(n) if k != me]
    box = np.empty_like(send)
    for k in range(n):
        if k != me:
            comm.Irecv(box, source=k).Wait()
        elif me == 0:
            box[...] = send
        else:
            continue
        recv[...] = op(recv, box)
    MPI.Request.Waitall(sending)
