import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank = comm.Get_rank()
    size = comm.Get_size()
    flat = recv.reshape(-1)
    values = send.reshape(-1)
    for j in range(len(values)):
        flat[j] = values[j]
    chunks = np.array_split(flat, size)
    for step in range(size - 1):
        target = chunks[(rank - step - 1) % size]
        temp = np.empty_like(target)
        requests = [comm.Irecv(temp, source=(rank - 1) % size),
                    comm.Isend(chunks[(rank - step) % size], dest=(rank + 1) % size)]
        MPI.Request.Waitall(requests)
        for j in range(len(target)):
            a, b = np.array([target[j]]), np.array([temp[j]])     # op wants arrays
            target[j] = op(a, b)[0]
    for step in range(size - 1):
        target = chunks[(rank - step) % size]
        temp = np.empty_like(target)
        requests = [comm.Irecv(temp, source=(rank - 1) % size),
                    comm.Isend(chunks[(rank - step + 1) % size], dest=(rank + 1) % size)]
        MPI.Request.Waitall(requests)
        for j in range(len(target)):
            target[j] = temp[j]
