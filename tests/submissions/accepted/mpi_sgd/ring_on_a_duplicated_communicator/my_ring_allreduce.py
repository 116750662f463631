import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def both(first, second):
    while True:
        done_first = first.Test()
        done_second = second.Test()
        if done_first and done_second:
            return


def ringallreduce(send, recv, comm, op):
    ring = comm.Dup()
    rank, size = ring.rank, ring.size
    values = send.flatten()                        # a copy: send stays as it is
    lengths = [len(x) for x in np.array_split(values, size)]
    ends = np.cumsum([0] + lengths)
    at = lambda k: values[ends[k % size]:ends[k % size + 1]]
    for step in range(2 * size - 2):
        reducing = step < size - 1
        target = at(rank - step - 1)
        inbox = np.empty_like(target) if reducing else target
        both(ring.Isend(at(rank - step), (rank + 1) % size), ring.Irecv(inbox, (rank - 1) % size))
        if reducing:
            target[:] = op(target, inbox)
    recv.reshape(-1)[:] = values
    ring.Free()
