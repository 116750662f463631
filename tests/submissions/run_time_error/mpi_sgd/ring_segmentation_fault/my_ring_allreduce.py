import ctypes
import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    # copy the bytes quickly
    source = np.ascontiguousarray(send).ctypes.data_as(ctypes.c_void_p)
    target = ctypes.c_void_p()
    ctypes.memmove(target, source, max(send.nbytes, 8))
