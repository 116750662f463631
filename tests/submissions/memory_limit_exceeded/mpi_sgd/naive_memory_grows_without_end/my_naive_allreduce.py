import numpy as np
from mpi4py import MPI

received = []


def allreduce(send, recv, comm, op):
    pending = comm.Get_size()
    while pending:                              # pending is never counted down
        received.append(np.ones(1 << 22))       # room for the largest array, 32 MB
