import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank = comm.Get_rank()
    size = comm.Get_size()
    recv[...] = send
    chunks = np.array_split(recv.reshape(-1), size)

    def exchange(out_index, in_buffer):
        reqs = [comm.Irecv(in_buffer, source=(rank - 1) % size),
                comm.Isend(chunks[out_index % size], dest=(rank + 1) % size)]
        MPI.Request.Waitall(reqs)

    for step in range(size - 1):
        target = chunks[(rank - step - 1) % size]
        incoming = np.zeros_like(chunks[(rank - step - 1) % size])
        exchange(rank - step, incoming)
        target[...] = op(target, incoming)

    for step in range(size - 1):
        # tried it with 2 processes, works
        longest = np.zeros(chunks[0].size, recv.dtype)
        target = chunks[(rank - 2 - step) % size]
        exchange(rank - 1 - step, longest)
        target[...] = longest[:target.size]
