"""Ring all-reduce in which a chunk is one element of a derived datatype."""
from contextlib import contextmanager

import numpy as np
from mpi4py import MPI
from mpi4py.util import dtlib


@contextmanager
def chunk_types(dtype, lengths):
    element = dtlib.from_numpy_dtype(dtype)
    types = [element.Create_contiguous(length).Commit() for length in lengths]
    try:
        yield types
    finally:
        for each in types:
            each.Free()


def ringallreduce(send, recv, comm, op):
    size, rank = comm.size, comm.rank
    flat = recv.reshape(-1)
    flat[:] = send.reshape(-1)
    chunks = np.array_split(flat, size)
    with chunk_types(send.dtype, [c.size for c in chunks]) as types:
        for step in range(2 * (size - 1)):
            mine, other = (rank - step) % size, (rank - step - 1) % size
            inbox = chunks[other].copy()
            requests = [
                comm.Irecv([inbox, 1, types[other]], source=(rank - 1) % size, tag=step),
                comm.Isend([chunks[mine], 1, types[mine]], dest=(rank + 1) % size, tag=step),
            ]
            MPI.Request.Waitall(requests)
            chunks[other][:] = op(chunks[other], inbox) if step < size - 1 else inbox
