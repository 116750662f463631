import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


KEPT = {}


def own(comm):
    """A communicator of our own for each that we are given: our messages meet nobody else's."""
    key = MPI._handleof(comm)
    if key not in KEPT:
        KEPT[key] = comm.Dup()
    return KEPT[key]


def as_bytes(array):
    return [array.view(np.uint8), MPI.BYTE]


class Ring:
    def __init__(self, comm):
        self.comm, self.rank, self.size = own(comm), comm.Get_rank(), comm.Get_size()

    def steps(self, chunks, first):
        for step in range(self.size - 1):
            outgoing = chunks[(self.rank + first - step) % self.size]
            incoming = np.empty_like(chunks[(self.rank + first - step - 1) % self.size])
            receiving = self.comm.Irecv(as_bytes(incoming), source=(self.rank - 1) % self.size)
            sending = self.comm.Isend(as_bytes(outgoing), dest=(self.rank + 1) % self.size)
            yield (self.rank + first - step - 1) % self.size, receiving, incoming
            sending.Wait()


def ringallreduce(send, recv, comm, op):
    ring = Ring(comm)
    work = send.flatten()
    chunks = np.array_split(work, ring.size)
    for index, receiving, incoming in ring.steps(chunks, 0):
        receiving.Wait()
        chunks[index][:] = op(chunks[index], incoming)
    for index, receiving, incoming in ring.steps(chunks, 1):
        receiving.Wait()
        chunks[index][:] = incoming
    recv.reshape(-1)[:] = work
