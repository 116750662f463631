import os
import threading

import numpy as np


def ringallreduce(send, recv, comm, op):
    me, n = comm.Get_rank(), comm.Get_size()
    right = (me + 1) % n
    for name in (f"pipe-{me}", f"pipe-{right}"):
        try:
            os.mkfifo(name)
        except FileExistsError:
            pass
    current = send.tobytes()
    recv[...] = send

    def pass_on(data):
        with open(f"pipe-{right}", "wb") as out:
            out.write(data)

    for _ in range(n - 1):
        writer = threading.Thread(target=pass_on, args=(current,))
        writer.start()
        with open(f"pipe-{me}", "rb") as incoming:
            current = incoming.read()
        writer.join()
        if send.size:
            recv[...] = op(recv, np.frombuffer(current, send.dtype).reshape(send.shape))
