# persistent requests: plan the whole ring first, then run the plan
import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def plan(view, comm):
    n, me = comm.size, comm.rank
    nxt, prv = (me + 1) % n, (me + n - 1) % n
    cuts = [view.size * k // n for k in range(n + 1)]
    piece = lambda k: view[cuts[k % n]:cuts[k % n + 1]]
    adding, copying = [], []
    for s in range(n - 1):
        box = np.zeros_like(piece(me - s - 1))
        adding.append((comm.Send_init(piece(me - s), nxt, 1), comm.Recv_init(box, prv, 1),
                       piece(me - s - 1), box))
    for s in range(n - 1):
        copying.append((comm.Send_init(piece(me + 1 - s), nxt, 2),
                        comm.Recv_init(piece(me - s), prv, 2)))
    return adding, copying


def ringallreduce(send, recv, comm, op):
    np.copyto(recv, send)
    adding, copying = plan(recv.reshape(-1), comm)
    for out, inn, target, box in adding:
        MPI.Prequest.Startall([out, inn])
        MPI.Request.Waitall([out, inn])
        target[:] = op(target, box)
    for pair in copying:
        MPI.Prequest.Startall(list(pair))
        MPI.Request.Waitall(list(pair))
    for out, inn, _, _ in adding:
        out.Free(); inn.Free()
    for out, inn in copying:
        out.Free(); inn.Free()
