"""Ring all-reduce: reduce-scatter, then all-gather (Patarasuk and Yuan 2009)."""

import mpi4py
import numpy as np

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI  # noqa: E402 - the settings above only count before this import


def ringallreduce(send, recv, comm, op):
    """Reduce the send arrays of all ranks into recv, the same on every rank.

    send, recv: C-contiguous arrays of one shape and dtype, on all ranks of comm; any number of
    dimensions (including none), any length. Leave send unchanged; what recv held before does not
    matter.
    op: associative and commutative function (x, y) -> array, element by element.

    With n ranks and L elements, each rank sends about 2 (n-1)/n L elements, all of them to its
    right neighbour: the least that any all-reduce needs.
    """
    # pass chunks around the ring: reduce-scatter, then all-gather
    rank = comm.Get_rank()
    size = comm.Get_size()
    left, right = (rank - 1) % size, (rank + 1) % size

    recv[...] = send
    # Views into recv: whatever a step writes into a chunk is in its place at once. Lengths differ
    # by at most one, and are zero for some chunks when there are more processes than elements.
    chunks = np.array_split(recv.reshape(-1), size)

    # One chunk after the other: it goes all the way around before the next one starts.
    word = np.zeros(1, dtype=np.int8)
    for first in range(size):
        at = (rank - first) % size  # place on the way of this chunk
        chunk = chunks[first]
        got = np.empty_like(chunk)
        if size > 1 and at > 0:
            comm.Irecv(got, source=left, tag=1).Wait()
            if chunk.size:
                chunk[...] = op(got, chunk)
        if size > 1 and at < size - 1:
            comm.Isend(chunk, dest=right, tag=1).Wait()
        if size > 1 and at != size - 1:
            comm.Irecv(chunk, source=left, tag=2).Wait()
        if size > 1 and at != size - 2:
            comm.Isend(chunk, dest=right, tag=2).Wait()
