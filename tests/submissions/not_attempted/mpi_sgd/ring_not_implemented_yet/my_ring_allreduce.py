import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    """Ring all-reduce, to be written on Sunday."""
    raise NotImplementedError("ring comes last")
