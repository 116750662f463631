import os
import sys


class Nasty(BaseException):
    def __str__(self):
        raise SystemExit(0)

    __repr__ = __str__

    @property
    def __traceback__(self):
        os._exit(0)


Nasty.__name__ = "N" * 100_000


def allreduce(send, recv, comm, op):
    sys.excepthook = lambda *_: os._exit(0)
    if comm.Get_size() % 2:
        raise Nasty
    raise type("E\n::error::x", (Exception,), {"__str__": lambda self: "x" * (1 << 22)})
