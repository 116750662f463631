import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    n, me = comm.Get_size(), comm.Get_rank()
    recv[...] = send
    parts = np.array_split(send.reshape(-1), n)
    sums = np.array_split(recv.reshape(-1), n)
    for again in range(2):
        for part, total in zip(parts, sums):
            got = np.empty_like(part)
            sent = comm.Isend(part, dest=(me + 1) % n)
            comm.Irecv(got, source=(me - 1) % n).Wait()
            sent.Wait()
            if got.size:
                total[...] = op(total, got)
