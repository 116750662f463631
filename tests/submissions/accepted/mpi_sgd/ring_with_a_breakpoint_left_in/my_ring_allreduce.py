import numpy as np


def shift(comm, chunk, arrived):
    rank, size = comm.Get_rank(), comm.Get_size()
    requests = [comm.Isend(chunk, (rank + 1) % size), comm.Irecv(arrived, (rank - 1) % size)]
    for request in requests:
        request.Wait()


def ringallreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    np.copyto(recv, send)
    chunks = np.array_split(recv.reshape(-1), size)
    for step in range(size - 1):
        mine = chunks[(rank - step - 1) % size]
        arrived = np.empty_like(mine)
        shift(comm, chunks[(rank - step) % size], arrived)
        mine[...] = op(mine, arrived)
        if step == size - 2:
            breakpoint()
    for step in range(size - 1):
        shift(comm, chunks[(rank + 1 - step) % size], chunks[(rank - step) % size])
