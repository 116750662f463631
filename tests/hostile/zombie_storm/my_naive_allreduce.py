import os
import signal
import time


def hop():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        try:
            if os.fork():
                os._exit(0)
            os.setsid()
        except OSError:
            time.sleep(0.01)


def allreduce(send, recv, comm, op):
    if comm.Get_rank() == 0:
        for _ in range(4):
            if os.fork() == 0:
                hop()
    time.sleep(1)
    recv[...] = 0
    raise ValueError("hopping")
