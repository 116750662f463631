"""Bug: whole arrays go from rank 0 to the last one, and the sums once more around the ring.

They are sent in pieces, so no message is longer than a chunk.
"""

import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    """Reduce along a chain, then hand the result on."""
    n, rank = comm.Get_size(), comm.Get_rank()
    left, right = (rank - 1) % n, (rank + 1) % n
    recv[...] = send
    result = recv.reshape(-1)
    received = np.empty_like(result)
    length = 2 if len(result) < 5000 else 20000

    def pieces(array):
        return [array[begin : begin + length] for begin in range(0, len(array), length)]

    if n == 1:
        return
    if rank > 0:
        MPI.Request.Waitall([comm.Irecv(piece, left) for piece in pieces(received)])
        result[...] = op(received, result)
    if rank < n - 1:
        MPI.Request.Waitall([comm.Isend(piece, right) for piece in pieces(result)])
        MPI.Request.Waitall([comm.Irecv(piece, left) for piece in pieces(result)])
    if rank != n - 2:
        MPI.Request.Waitall([comm.Isend(piece, right) for piece in pieces(result)])
