import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI
from ringlib.steps import circulate


def ringallreduce(send, recv, comm, op):
    recv[...] = send

    def add(mine, arrived):
        if mine.size > 0:
            mine[...] = op(mine, arrived)

    def replace(mine, arrived):
        mine[...] = arrived

    rank = comm.Get_rank()
    circulate(recv, comm, first=rank, use=add)
    circulate(recv, comm, first=rank + 1, use=replace)
