from mpi4py import MPI
import numpy as np


def ringallreduce(send, recv, comm, op):
    p = comm.Get_size()
    me = comm.Get_rank()
    right, left = (me + 1) % p, (me - 1) % p

    own = np.array_split(send.reshape(-1), p)
    out = np.array_split(recv.reshape(-1), p)

    # every chunk travels once around the ring and collects everybody's part
    travelling = own[me].copy()
    for i in range(p):
        incoming = np.empty_like(own[(me - i - 1) % p])
        r = comm.Irecv(incoming, source=left)
        s = comm.Isend(travelling, dest=right)
        r.Wait(); s.Wait()
        travelling = op(incoming, own[(me - i - 1) % p])

    # now chunk `me` is complete here, send it around
    out[me][:] = travelling
    for i in range(p - 1):
        r = comm.Irecv(out[(me - i - 1) % p], source=left)
        s = comm.Isend(out[(me - i) % p], dest=right)
        r.Wait(); s.Wait()
