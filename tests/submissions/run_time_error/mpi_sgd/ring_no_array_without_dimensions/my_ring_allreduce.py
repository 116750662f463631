import numpy as np
from mpi4py import MPI


class Ring:
    """ A ring in which everything moves to the left. """

    def __init__(self, comm, array):
        self.comm = comm
        self.size = comm.Get_size()
        self.rank = comm.Get_rank()
        self.chunks = np.array_split(array, self.size)

    def shift(self, chunk, into):
        send_request = self.comm.Isend(chunk, dest=(self.rank - 1) % self.size)
        recv_request = self.comm.Irecv(into, source=(self.rank + 1) % self.size)
        recv_request.Wait()
        send_request.Wait()

    def reduce_scatter(self, op):
        for step in range(1, self.size):
            mine = self.chunks[(self.rank + step) % self.size]
            arrived = np.empty_like(mine)
            self.shift(self.chunks[(self.rank + step - 1) % self.size], arrived)
            np.copyto(mine, op(mine, arrived))

    def all_gather(self):
        for step in range(self.size - 1):
            self.shift(self.chunks[(self.rank - 1 + step) % self.size],
                       self.chunks[(self.rank + step) % self.size])


def ringallreduce(send, recv, comm, op):
    recv[:] = send
    ring = Ring(comm, recv.reshape(-1))
    ring.reduce_scatter(op)
    ring.all_gather()
