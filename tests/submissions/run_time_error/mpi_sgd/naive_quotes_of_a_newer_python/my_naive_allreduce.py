import numpy as np
from mpi4py import MPI

names = {"sum": "+", "max": "max"}


def allreduce(send, recv, comm, op):
    rank = comm.Get_rank()
    boxes = {p: np.empty_like(send) for p in range(comm.Get_size()) if p != rank}
    requests = [comm.Irecv(box, source=p) for p, box in boxes.items()]
    requests += [comm.Isend(send, dest=p) for p in boxes]
    MPI.Request.Waitall(requests)
    recv[...] = send
    for box in boxes.values():
        if send.size:
            recv[...] = op(recv, box)
    print(f"rank {rank}: {names["sum"]} of {len(boxes)} boxes")
