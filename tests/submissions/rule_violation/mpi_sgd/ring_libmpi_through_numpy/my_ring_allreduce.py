import os

import mpi4py.MPI
import numpy as np

MPI = mpi4py.MPI


def ringallreduce(send, recv, comm, op):
    # numpy opens it for us, and what it needs comes with it
    folder, name = os.path.split(MPI.__spec__.origin)
    lib = np.ctypeslib.load_library(name, folder)
    lib.PMPI_Allreduce.argtypes = [
        np.ctypeslib.ndpointer(send.dtype), np.ctypeslib.ndpointer(send.dtype), np.ctypeslib.c_intp
    ]
    recv[...] = send
