import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    own = comm.Dup()
    n, rank = own.size, own.rank
    length = -(-send.size // n)
    work = np.zeros((n, length), dtype=send.dtype)
    work.reshape(-1)[:send.size] = send.reshape(-1)
    out, into = np.empty_like(work[0]), np.empty_like(work[0])
    ring = [own.Send_init(out, dest=(rank + 1) % n), own.Recv_init(into, source=(rank - 1) % n)]
    for step in range(2 * (n - 1)):
        out[:] = work[(rank - step) % n]
        MPI.Prequest.Startall(ring)
        MPI.Request.Waitall(ring)
        k = (rank - step - 1) % n
        work[k] = op(work[k], into) if step < n - 1 else into
    for request in ring:
        request.Free()
    own.Free()
    recv.reshape(-1)[:] = work.reshape(-1)[:send.size]
