import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    circle = comm.Create_cart(dims=[comm.Get_size()], periods=[True], reorder=False)
    source, dest = circle.Shift(direction=0, disp=1)
    n, me = circle.Get_size(), circle.Get_rank()

    work = np.array(send).reshape(-1)
    parts = np.array_split(work, n)
    for step in range(n - 1):
        buf = np.empty(parts[(me - step - 1) % n].shape, work.dtype)
        pending = circle.Irecv([buf, buf.size, MPI._typedict[work.dtype.char]], source=source)
        out = parts[(me - step) % n]
        sending = circle.Isend([out, out.size, MPI._typedict[work.dtype.char]], dest=dest)
        pending.Wait()
        parts[(me - step - 1) % n][:] = op(buf, parts[(me - step - 1) % n])
        sending.Wait()
    for step in range(n - 1):
        pending = circle.Irecv(parts[(me - step) % n], source=source)
        sending = circle.Isend(parts[(me - step + 1) % n], dest=dest)
        MPI.Request.Waitall([pending, sending])
    recv[...] = work.reshape(recv.shape)
    circle.Free()
