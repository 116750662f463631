import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank = comm.Get_rank()
    size = comm.Get_size()
    step = 0
    while step < 2 * (size - 1) or size == 1:
        print("rank", rank, "step", step, "." * 5000, "still waiting")
        if rank > size:
            step += 1
