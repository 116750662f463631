import threading
import time


def allreduce(send, recv, comm, op):
    started = 0
    threading.stack_size(1 << 16)
    try:
        while started < 10_000:
            threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
            started += 1
    except (RuntimeError, MemoryError):
        pass
    recv[...] = 0
    raise ValueError(f"{started} threads")
