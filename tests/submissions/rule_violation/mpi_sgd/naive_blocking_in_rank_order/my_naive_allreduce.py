import numpy as np
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    rank = comm.Get_rank()
    size = comm.Get_size()
    buf = np.empty_like(send)
    recv[...] = send
    # one sender at a time, so nobody can block for ever
    for sender in range(size):
        if sender == rank:
            for receiver in range(size):
                if receiver != rank:
                    comm.Send(send, dest=receiver)
        else:
            comm.Recv(buf, source=sender)
            recv[...] = op(recv, buf)
