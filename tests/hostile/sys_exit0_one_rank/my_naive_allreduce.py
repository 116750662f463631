import sys


def allreduce(send, recv, comm, op):
    if comm.Get_rank() == comm.Get_size() - 1:
        sys.exit(0)
    recv[...] = 0
