"""Ring all-reduce: reduce-scatter, then all-gather (Patarasuk and Yuan 2009)."""

import mpi4py
import numpy as np

mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI  # noqa: E402 - the settings above only count before this import

TAG_REDUCE = 10
TAG_GATHER = 20


def reduce_scatter(parts, comm, op):
    """Afterwards part (rank + 1) % n is complete on this rank. Returns its number."""
    n, rank = comm.Get_size(), comm.Get_rank()
    prev, nxt = (rank + n - 1) % n, (rank + 1) % n
    cur = rank
    for _ in range(n - 1):
        coming = (cur - 1) % n
        tmp = np.empty_like(parts[coming])
        requests = [
            comm.Irecv(tmp, source=prev, tag=TAG_REDUCE),
            comm.Isend(parts[cur], dest=nxt, tag=TAG_REDUCE),
        ]
        MPI.Request.Waitall(requests)
        parts[coming][...] = op(parts[coming], tmp)
        cur = coming
    return cur


def all_gather(parts, mine, comm):
    """Give the complete part to all the others and get theirs."""
    n, rank = comm.Get_size(), comm.Get_rank()
    requests = []
    for other in range(n):
        if other == rank:
            continue
        requests.append(comm.Irecv(parts[(other + 1) % n], source=other, tag=TAG_GATHER))
        requests.append(comm.Isend(parts[mine], dest=other, tag=TAG_GATHER))
    MPI.Request.Waitall(requests)


def ringallreduce(send, recv, comm, op):
    """Reduce the send arrays of all ranks into recv, the same on every rank."""
    recv[...] = send
    # array_split also works if the length is not a multiple of n (views of recv, no copies)
    parts = np.array_split(recv, comm.Get_size())
    mine = reduce_scatter(parts, comm, op)
    all_gather(parts, mine, comm)
