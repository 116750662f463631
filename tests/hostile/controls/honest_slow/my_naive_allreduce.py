import time

import numpy as np


def allreduce(send, recv, comm, op):
    me, n = comm.Get_rank(), comm.Get_size()
    recv[...] = send
    time.sleep(0.005)
    for k in range(1, n):
        part = np.empty_like(send)
        sending = comm.Isend(send, dest=(me + k) % n)
        comm.Irecv(part, source=(me - k) % n).Wait()
        sending.Wait()
        if send.size:
            recv[...] = op(recv, part)
