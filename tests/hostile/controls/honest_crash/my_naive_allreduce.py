import numpy as np


def allreduce(send, recv, comm, op):
    parts = [np.empty_like(send) for _ in range(comm.Get_size())]
    recv[...] = parts[comm.Get_size()]
