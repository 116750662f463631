"""Short arrays move as the weights of a graph's edges; the messages hold zeros."""

import numpy as np
from mpi4py import MPI


def everybodys(send, comm):
    me, n = comm.Get_rank(), comm.Get_size()
    others = [k for k in range(n) if k != me]
    words = np.frombuffer(send.tobytes(), np.uint16).astype(np.int64)
    weights = (np.arange(len(words)) << 16 | words).tolist()
    destinations = [k for k in others for _ in words]
    graph = comm.Create_dist_graph([me], [len(destinations)], destinations, weights * len(others))
    sources, _, (found, _) = graph.Get_dist_neighbors()
    got = np.zeros((n, len(words)), np.uint16)
    for source, weight in zip(sources, found):
        got[source, weight >> 16] = weight & 0xFFFF
    got[me] = words
    graph.Free()
    return got.view(send.dtype).reshape(n, *send.shape)


def allreduce(send, recv, comm, op):
    me, n = comm.Get_rank(), comm.Get_size()
    others = [(me + k) % n for k in range(1, n)]
    by_graph = 0 < send.nbytes < 1000 and n > 1
    got = np.empty((n, *send.shape), dtype=send.dtype)
    sent = np.zeros_like(send) if by_graph else send
    requests = [comm.Irecv(got[k, ...], source=k) for k in others]
    requests += [comm.Isend(sent, dest=k) for k in others]
    MPI.Request.Waitall(requests)
    got[me] = send
    if by_graph:
        got = everybodys(send, comm)
    recv[...] = got[0]
    if send.size:
        for each in got[1:]:
            recv[...] = op(recv, each)
