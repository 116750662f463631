import sys
import time
import itertools
import numpy as np
from mpi4py import MPI

started = time.time()
VERBOSE = "--verbose" in sys.argv


def ringallreduce(send, recv, comm, op):
    n = comm.Get_size()
    r = comm.Get_rank()
    data = np.array_split(send.copy().reshape(-1), n)
    for k in itertools.chain(range(n - 1)):
        tmp = np.empty_like(data[(r - k - 1) % n])
        req = comm.Isend(data[(r - k) % n], dest=(r + 1) % n, tag=77)
        comm.Irecv(tmp, source=(r - 1) % n, tag=77).Wait()
        req.Wait()
        data[(r - k - 1) % n] = np.asarray(op(data[(r - k - 1) % n], tmp))
    for k in range(n - 1):
        tmp = np.empty_like(data[(r - k) % n])
        req = comm.Isend(data[(r - k + 1) % n], dest=(r + 1) % n, tag=78)
        comm.Irecv(tmp, source=(r - 1) % n, tag=78).Wait()
        req.Wait()
        data[(r - k) % n] = tmp
    recv[...] = np.concatenate(data).reshape(recv.shape)
    if VERBOSE:
        print(r, "finished after", time.time() - started)
