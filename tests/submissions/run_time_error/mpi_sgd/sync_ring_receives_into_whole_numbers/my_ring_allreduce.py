"""Ring all-reduce: reduce-scatter, then all-gather (Patarasuk and Yuan 2009)."""

import mpi4py
import numpy as np

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI  # noqa: E402 - the settings above only count before this import


def ringallreduce(send, recv, comm, op):
    """Reduce the send arrays of all processes into recv, the same on every process.

    send, recv: C-contiguous arrays of one shape and dtype, on all processes of comm; any number of
    dimensions (including none), any length. Leave send unchanged; what recv held before does not
    matter.
    op: associative and commutative function (x, y) -> array, element by element.

    With n processes and L elements each process sends about 2 (n-1)/n L elements, all of them to
    its right neighbour: the least that any all-reduce needs.
    """
    rank = comm.Get_rank()
    size = comm.Get_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    chunks = np.array_split(send.reshape(-1).copy(), size)

    for step in range(size - 1):
        request = comm.Isend(chunks[(rank - step) % size], dest=right)
        mine = chunks[(rank - step - 1) % size]
        partial = np.empty_like(mine)
        comm.Irecv(partial, source=left).Wait()
        if mine.size:
            mine[...] = op(partial, mine)
        request.Wait()

    for step in range(size - 1):
        request = comm.Isend(chunks[(rank + 1 - step) % size], dest=right)
        comm.Irecv(chunks[(rank - step) % size], source=left).Wait()
        request.Wait()

    np.copyto(recv, np.concatenate(chunks).reshape(send.shape))
