import numpy as np
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    window = MPI.Win.Create(send if send.size else None, disp_unit=send.itemsize, comm=comm)
    arrays = [np.empty_like(send) for _ in range(comm.Get_size())]
    window.Fence()
    for target, array in enumerate(arrays):
        if array.size:
            window.Get(array, target)
    window.Fence()
    window.Free()
    recv[...] = arrays[0]
    for array in arrays[1:]:
        recv[...] = op(recv, array)
