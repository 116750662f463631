import numpy as np
from collections import Iterable


def allreduce(send, recv, comm, op):
    assert isinstance(send, Iterable)
    me, n = comm.Get_rank(), comm.Get_size()
    sent = [comm.Isend(send, dest=p) for p in range(n) if p != me]
    parts = []
    for p in range(n):
        part = send
        if p != me:
            part = np.empty_like(send)
            comm.Irecv(part, source=p).Wait()
        parts.append(part)
    for request in sent:
        request.Wait()
    recv[...] = parts[0]
    if send.size:
        for part in parts[1:]:
            recv[...] = op(recv, part)
