import numpy as np
from mpi4py import MPI

def ringallreduce(send, recv, comm, op):
    left = (comm.Get_rank() - 1) % comm.Get_size()
    right = (comm.Get_rank() + 1) % comm.Get_size()
    if comm.Get_size() == 1:
        recv[...] = send
        return
    from_left = np.empty_like(send)
    reqs = [comm.Isend(send, right), comm.Irecv(from_left, left)]
    MPI.Request.Waitall(reqs)
    recv[...] = op(send, from_left)
