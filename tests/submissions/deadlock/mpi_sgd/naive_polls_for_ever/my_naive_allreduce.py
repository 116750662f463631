import numpy as np
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    size, rank = comm.Get_size(), comm.Get_rank()
    requests = [comm.Isend(send, dest=other, tag=9) for other in range(size) if other != rank]
    buffer = np.empty_like(send)
    recv[...] = send
    received = 0
    while received < size:                      # size - 1 messages come
        if comm.Iprobe(source=MPI.ANY_SOURCE, tag=9):
            comm.Irecv(buffer, source=MPI.ANY_SOURCE, tag=9).Wait()
            recv[...] = op(recv, buffer)
            received += 1
    MPI.Request.Waitall(requests)
