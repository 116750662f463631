import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    size, rank = comm.Get_size(), comm.Get_rank()
    recv[...] = send
    parts = np.array_split(recv.reshape(-1), size)
    for step in range(2 * (size - 1)):
        target = parts[(rank - step - 1) % size]
        inbox = np.empty_like(target)
        requests = [comm.Irecv(inbox, source=(rank - 1) % size),
                    comm.Isend(parts[(rank - step) % size], dest=(rank + 1) % size)]
        MPI.Request.Waitall(requests)
        target[...] = op(target, inbox) if step < size - 1 else inbox
