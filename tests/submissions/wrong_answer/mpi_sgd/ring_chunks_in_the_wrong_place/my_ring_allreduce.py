import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    r, n = comm.Get_rank(), comm.Get_size()
    chunks = np.array_split(send.flatten(), n)
    for s in range(2 * n - 2):
        box = np.empty_like(chunks[(r - s - 1) % n])
        a = comm.Irecv(box, source=(r - 1) % n)
        b = comm.Isend(chunks[(r - s) % n], dest=(r + 1) % n)
        a.Wait()
        b.Wait()
        chunks[(r - s - 1) % n] = op(chunks[(r - s - 1) % n], box) if s < n - 1 else box
    # the first finished chunk of this process comes first
    chunks = chunks[1 % n:] + chunks[:1 % n]
    recv[...] = np.concatenate(chunks).reshape(recv.shape)
