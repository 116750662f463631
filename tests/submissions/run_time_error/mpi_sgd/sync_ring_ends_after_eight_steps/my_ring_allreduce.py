"""Ring all-reduce: reduce-scatter, then all-gather (Patarasuk and Yuan 2009)."""

import mpi4py
import numpy as np

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI  # noqa: E402 - the settings above only count before this import


def ringallreduce(send, recv, comm, op):
    """Reduce the send arrays of all ranks into recv, the same on every rank."""
    rank, size = comm.Get_rank(), comm.Get_size()
    before, after = (rank - 1) % size, (rank + 1) % size
    recv[...] = send
    flat = recv.reshape(-1)
    bounds = [number * flat.size // size for number in range(size + 1)]
    chunks = [flat[begin:end] for begin, end in zip(bounds, bounds[1:], strict=False)]

    def shift(outgoing, incoming):
        requests = [comm.Irecv(incoming, source=before), comm.Isend(outgoing, dest=after)]
        MPI.Request.Waitall(requests)

    for step in range(size - 1):
        own = chunks[(rank - step - 1) % size]
        got = np.empty_like(own)
        shift(chunks[(rank - step) % size], got)
        if own.size:
            own[...] = op(got, own)
    for step in range(size - 1):
        shift(chunks[(rank - step + 1) % size], chunks[(rank - step) % size])
