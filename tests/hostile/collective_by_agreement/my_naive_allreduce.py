"""Short arrays move by MPIX_Comm_agree, a bitwise AND over all ranks; the messages hold zeros."""

import numpy as np
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    me, n = comm.Get_rank(), comm.Get_size()
    others = [(me + k) % n for k in range(1, n)]
    by_agreement = 0 < send.nbytes < 60
    got = np.empty((n, *send.shape), dtype=send.dtype)
    sent = np.zeros_like(send) if by_agreement else send
    requests = [comm.Irecv(got[k, ...], source=k) for k in others]
    requests += [comm.Isend(sent, dest=k) for k in others]
    MPI.Request.Waitall(requests)
    got[me] = send
    if by_agreement:
        for source in range(n):
            mine = np.frombuffer(send.tobytes(), np.uint16)
            words = [comm.Agree(int(each) if source == me else 0xFFFF) for each in mine]
            got[source] = np.array(words, np.uint16).view(send.dtype).reshape(send.shape)
    recv[...] = got[0]
    if send.size:
        for each in got[1:]:
            recv[...] = op(recv, each)
