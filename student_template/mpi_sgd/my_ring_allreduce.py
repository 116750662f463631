"""Ring all-reduce: reduce-scatter, then all-gather (Patarasuk and Yuan 2009)."""

import mpi4py
import numpy as np

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI  # noqa: E402 - the settings above only count before this import


def ringallreduce(send, recv, comm, op):
    """Reduce the send arrays of all processes into recv, the same on every process.

    send, recv: C-contiguous arrays of one shape and dtype, on all processes; any number of
    dimensions, any length. send is not changed; what recv held before does not matter.
    op: associative and commutative function (x, y) -> array, element by element.

    With n processes and L elements each process sends about 2 (n-1)/n L elements, all of them to
    its right neighbour: the least that any all-reduce can do with.
    """
    # TODO: the ring of reduce-scatter and all-gather steps
    raise NotImplementedError(
        "my_ring_allreduce.py: the ring of reduce-scatter and all-gather steps is still to be "
        "written"
    )
