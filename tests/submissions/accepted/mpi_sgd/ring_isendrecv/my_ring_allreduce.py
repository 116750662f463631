import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    out = recv.reshape(-1)
    np.copyto(out, send.reshape(-1))
    bounds = np.linspace(0, out.size, size + 1).astype(int)

    def chunk(k):
        return out[bounds[k % size]:bounds[k % size + 1]]

    for step in range(1, size):
        incoming = np.empty_like(chunk(rank - step))
        comm.Isendrecv(chunk(rank - step + 1), (rank + 1) % size, 0,
                       incoming, (rank - 1) % size, 0).Wait()
        np.copyto(chunk(rank - step), op(chunk(rank - step), incoming))
    for step in range(1, size):
        comm.Isendrecv(chunk(rank - step + 2), (rank + 1) % size, 1,
                       chunk(rank - step + 1), (rank - 1) % size, 1).Wait()
