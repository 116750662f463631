import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    chunks = np.array_split(send.flatten(), size)
    # the first step is outside of the loop: there is always one
    step = 0
    while True:
        mine = (rank - step - 1) % size
        box = np.empty_like(chunks[mine])
        MPI.Request.Waitall([comm.Irecv(box, source=left), comm.Isend(chunks[(rank - step) % size], dest=right)])
        if box.size:
            chunks[mine] = op(chunks[mine], box)
        step += 1
        if step >= size - 1:
            break
    for step in range(size - 1):
        place = (rank - step) % size
        MPI.Request.Waitall([comm.Irecv(chunks[place], source=left), comm.Isend(chunks[(rank - step + 1) % size], dest=right)])
    recv[...] = np.concatenate(chunks).reshape(recv.shape)
