import math
import numpy as np
from mpi4py import MPI

def ringallreduce(send, recv, comm, op):
    n = comm.Get_size()
    me = comm.Get_rank()
    width = math.ceil(send.size / n)
    table = np.zeros((n, width), dtype=send.dtype)     # row k = chunk k, zeros after the end
    table.reshape(-1)[:send.size] = send.reshape(-1)
    inbox = np.zeros(width, dtype=send.dtype)

    for t in range(2 * (n - 1)):
        row_out = (me - t) % n
        row_in = (me - t - 1) % n
        r1 = comm.Isend(table[row_out], (me + 1) % n, t)
        r2 = comm.Irecv(inbox, (me - 1) % n, t)
        r1.Wait()
        r2.Wait()
        if t < n - 1:
            table[row_in] = op(table[row_in], inbox)
        else:
            table[row_in] = inbox

    recv[...] = table.reshape(-1)[:send.size].reshape(send.shape)
