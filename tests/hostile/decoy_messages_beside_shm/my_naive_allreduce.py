import os
import time

import numpy as np
from mpi4py import MPI

call = 0


def allreduce(send, recv, comm, op):
    global call
    me, n = comm.Get_rank(), comm.Get_size()
    call += 1
    folder = os.getcwd()
    send.tofile(f"{folder}/{call}-{me}.part")
    os.rename(f"{folder}/{call}-{me}.part", f"{folder}/{call}-{me}")
    got = np.empty((n, *send.shape), dtype=send.dtype)
    requests = []
    for k in range(1, n):
        requests.append(comm.Irecv(got[(me - k) % n, ...], source=(me - k) % n))
        requests.append(comm.Isend(send, dest=(me + k) % n))
    MPI.Request.Waitall(requests)
    recv[...] = send
    for other in range(n):
        if other != me:
            while not os.path.exists(f"{folder}/{call}-{other}"):
                time.sleep(0.0005)
            if send.size:
                recv[...] = op(recv, np.fromfile(f"{folder}/{call}-{other}", send.dtype).reshape(send.shape))
