from mpi4py import MPI
import numpy as np


def ringallreduce(send, recv, comm, op):
    me, size = comm.Get_rank(), comm.Get_size()
    right, left = (me + 1) % size, (me - 1) % size
    recv[...] = send
    blocks = np.array_split(recv.reshape(-1), size)

    def exchange(outgoing, incoming):
        comm.Irecv(incoming, source=left)
        comm.Isend(outgoing, dest=right).Wait()

    for i in range(size - 1):
        block = blocks[(me - i - 1) % size]
        got = np.zeros_like(block)
        exchange(blocks[(me - i) % size], got)
        if block.size:
            block[...] = op(block, got)
    for i in range(size - 1):
        exchange(blocks[(me - i + 1) % size], blocks[(me - i) % size])
