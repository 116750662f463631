import numpy as np
from mpi4py import MPI

SEGMENT = 500       # elements in one message


def exchange(comm, outgoing, incoming, dest, source):
    requests = []
    for start in range(0, incoming.size, SEGMENT):
        requests.append(comm.Irecv(incoming[start:start + SEGMENT], source=source))
    for start in range(0, outgoing.size, SEGMENT):
        requests.append(comm.Isend(outgoing[start:start + SEGMENT], dest=dest))
    MPI.Request.Waitall(requests)


def ringallreduce(send, recv, comm, op):
    size = comm.Get_size()
    rank = comm.Get_rank()
    result = recv.ravel()            # a view, recv is contiguous
    result[:] = send.ravel()

    base, extra = divmod(result.size, size)
    starts = [0]
    for k in range(size):
        starts.append(starts[-1] + base + (1 if k < extra else 0))

    def chunk(k):
        k = k % size
        return result[starts[k]:starts[k + 1]]

    for step in range(size - 1):
        incoming = np.empty_like(chunk(rank - step - 1))
        exchange(comm, chunk(rank - step), incoming, (rank + 1) % size, (rank - 1) % size)
        chunk(rank - step - 1)[:] = op(chunk(rank - step - 1), incoming)
    for step in range(size - 1):
        exchange(comm, chunk(rank - step + 1), chunk(rank - step), (rank + 1) % size, (rank - 1) % size)
