import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    recv[...] = send
    chunks = np.array_split(recv.reshape(-1), size)
    pending = []
    buffers = []
    for step in range(size - 1):
        incoming = np.zeros_like(chunks[(rank - step - 1) % size])
        buffers.append(incoming)
        pending.append(comm.Irecv(incoming, source=(rank - 1) % size, tag=step))
        chunks[(rank - step - 1) % size][...] = op(chunks[(rank - step - 1) % size], incoming)
        pending.append(comm.Isend(chunks[(rank - step) % size].copy(), dest=(rank + 1) % size, tag=step))
    for step in range(size - 1):
        pending.append(comm.Irecv(chunks[(rank - step) % size], source=(rank - 1) % size, tag=size + step))
        pending.append(comm.Isend(chunks[(rank - step + 1) % size].copy(), dest=(rank + 1) % size, tag=size + step))
    MPI.Request.Waitall(pending)
