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
    # Both ways at once: who only reads does not block whom it reads from.
    incoming = os.open(f"pipe-{me}", os.O_RDWR)
    out = os.open(f"pipe-{right}", os.O_RDWR)
    current = send.tobytes()
    recv[...] = send

    def pass_on(data):
        while data:
            data = data[os.write(out, data) :]

    for _ in range(n - 1):
        writer = threading.Thread(target=pass_on, args=(current,))
        writer.start()
        got = b""
        while len(got) < send.nbytes:
            got += os.read(incoming, send.nbytes - len(got))
        writer.join()
        current = got
        if send.size:
            recv[...] = op(recv, np.frombuffer(current, send.dtype).reshape(send.shape))
