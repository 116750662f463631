import os
import time

import numpy as np

call = 0


def allreduce(send, recv, comm, op):
    global call
    me, n = comm.Get_rank(), comm.Get_size()
    call += 1
    folder = os.getcwd()
    send.tofile(f"{folder}/{call}-{me}.part")
    os.rename(f"{folder}/{call}-{me}.part", f"{folder}/{call}-{me}")
    recv[...] = send
    for other in range(n):
        if other != me:
            while not os.path.exists(f"{folder}/{call}-{other}"):
                time.sleep(0.0005)
            if send.size:
                recv[...] = op(recv, np.fromfile(f"{folder}/{call}-{other}", send.dtype).reshape(send.shape))
