import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank = comm.Get_rank()
    size = comm.Get_size()
    flat = recv.reshape(-1)
    flat[:] = send.reshape(-1)
    n = flat.size // size                     # chunk length

    for step in range(size - 1):
        s = (rank - step) % size
        r = (rank - step - 1) % size
        temp = np.zeros(n, dtype=flat.dtype)
        req1 = comm.Isend(flat[s * n:(s + 1) * n], dest=(rank + 1) % size)
        req2 = comm.Irecv(temp, source=(rank - 1) % size)
        req1.Wait()
        req2.Wait()
        flat[r * n:(r + 1) * n] = op(flat[r * n:(r + 1) * n], temp)

    for step in range(size - 1):
        s = (rank - step + 1) % size
        r = (rank - step) % size
        req1 = comm.Isend(flat[s * n:(s + 1) * n], dest=(rank + 1) % size)
        req2 = comm.Irecv(flat[r * n:(r + 1) * n], source=(rank - 1) % size)
        req1.Wait()
        req2.Wait()
