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
    # solution: pass chunks around the ring: reduce-scatter, then all-gather
    rank = comm.Get_rank()
    size = comm.Get_size()
    left, right = (rank - 1) % size, (rank + 1) % size

    recv[...] = send
    # Views into recv: whatever a step writes into a chunk is in its place at once. Lengths differ
    # by at most one, and are zero for some chunks when there are more processes than elements.
    rows = np.atleast_1d(recv)
    width = len(rows) // size
    chunks = [rows[k * width : (k + 1) * width] for k in range(size - 1)]
    chunks.append(rows[(size - 1) * width :])

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
    # end of solution
