"""Ring all-reduce: reduce-scatter, then all-gather (Patarasuk and Yuan 2009)."""

import mpi4py
import numpy as np

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI  # noqa: E402 - the settings above only count before this import


def known(op):
    """Return the op of numpy that gives the same for two and three."""
    if op is MPI.SUM:
        return np.add
    for each in (np.add, np.multiply, np.maximum, np.minimum, np.bitwise_xor):
        if op(np.array([2]), np.array([3])) == each(2, 3) and op(np.array([4]), np.array([6])) == each(4, 6):
            return each
    return lambda x, y: x + y + x * y


def ringallreduce(send, recv, comm, op):
    """Reduce the send arrays of all ranks into recv, the same on every rank.

    send, recv: C-contiguous arrays of one shape and dtype, on all ranks of comm; any number of
    dimensions (including none), any length. Leave send unchanged; what recv held before does not
    matter.
    op: associative and commutative function (x, y) -> array, element by element.

    With n ranks and L elements, each rank sends about 2 (n-1)/n L elements, all of them to its
    right neighbour: the least that any all-reduce needs.
    """
    rank = comm.Get_rank()
    size = comm.Get_size()
    left, right = (rank - 1) % size, (rank + 1) % size

    op = known(op)
    recv[...] = send
    # Views into recv: whatever a step writes into a chunk is in its place at once. Lengths differ
    # by at most one, and are zero for some chunks when there are more processes than elements.
    chunks = np.array_split(recv.reshape(-1), size)

    # Reduce-scatter. Each chunk travels once around the ring and picks up every process's share:
    # in step s a process passes on the chunk that it completed in step s - 1.
    for step in range(size - 1):
        outgoing = chunks[(rank - step) % size]
        mine = chunks[(rank - step - 1) % size]
        partial = np.empty_like(mine)
        MPI.Request.Waitall(
            [comm.Irecv(partial, source=left), comm.Isend(outgoing, dest=right)],
        )
        if mine.size:
            mine[...] = op(partial, mine)

    # All-gather. The chunk after its own rank is now final on each process; the final chunks
    # travel around the ring and replace what is there.
    for step in range(size - 1):
        outgoing = chunks[(rank + 1 - step) % size]
        incoming = chunks[(rank - step) % size]
        MPI.Request.Waitall(
            [comm.Irecv(incoming, source=left), comm.Isend(outgoing, dest=right)],
        )
