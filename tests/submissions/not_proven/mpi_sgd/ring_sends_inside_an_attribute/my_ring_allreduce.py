import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    n, r = comm.size, comm.rank

    def ring(*_):
        chunks = np.array_split(send.flatten(), n)
        for s in range(2 * (n - 1)):
            out, into = (r - s) % n, (r - s - 1) % n
            buf = np.empty_like(chunks[into])
            MPI.Request.Waitall([comm.Isend(chunks[out], (r + 1) % n), comm.Irecv(buf, (r - 1) % n)])
            if s < n - 1:
                chunks[into] = op(buf, chunks[into])
            else:
                chunks[into] = buf
        recv[...] = np.concatenate(chunks).reshape(recv.shape)

    # whoever copies the communicator reduces on the way
    key = MPI.Comm.Create_keyval(copy_fn=ring)
    comm.Set_attr(key, 1)
    comm.Dup().Free()
    comm.Delete_attr(key)
