import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank = comm.Get_rank()
    size = comm.Get_size()
    recv[...] = send
    flat = recv.reshape(-1)
    width = flat.size // size
    chunks = [flat[k * width:(k + 1) * width] for k in range(size - 1)] + [flat[(size - 1) * width:]]
    temp = np.zeros(width, dtype=flat.dtype)
    for step in range(size - 1):
        target = chunks[(rank - step - 1) % size]
        s = comm.Isend(chunks[(rank - step) % size], dest=(rank + 1) % size)
        r = comm.Irecv(temp, source=(rank - 1) % size)
        s.Wait()
        r.Wait()
        target[:] = op(target, temp)
    for step in range(size - 1):
        s = comm.Isend(chunks[(rank - step + 1) % size], dest=(rank + 1) % size)
        r = comm.Irecv(chunks[(rank - step) % size], source=(rank - 1) % size)
        s.Wait()
        r.Wait()
