import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    outgoing = [comm.Isend(send, (rank + hop) % size, tag=11) for hop in range(1, size)]
    np.copyto(recv, send)
    arrived = np.empty_like(send)
    for hop in range(1, size):
        message = None
        while message is None:
            message = comm.Improbe(source=(rank - hop) % size, tag=11)
        message.Irecv(arrived).Wait()
        np.copyto(recv, op(recv, arrived))
    for request in outgoing:
        request.Wait()
