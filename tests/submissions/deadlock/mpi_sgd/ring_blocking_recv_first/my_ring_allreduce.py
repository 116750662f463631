import numpy as np
from mpi4py import MPI

def ringallreduce(send, recv, comm, op):
    r = comm.Get_rank()
    n = comm.Get_size()
    recv[:] = send
    parts = np.array_split(recv.reshape(-1), n)
    for k in range(n - 1):
        t = np.empty_like(parts[(r - k - 1) % n])
        comm.Recv(t, source=(r - 1) % n)
        comm.Send(parts[(r - k) % n], dest=(r + 1) % n)
        parts[(r - k - 1) % n][:] = op(parts[(r - k - 1) % n], t)
    for k in range(n - 1):
        comm.Recv(parts[(r - k) % n], source=(r - 1) % n)
        comm.Send(parts[(r - k + 1) % n], dest=(r + 1) % n)
