import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    mine = np.ascontiguousarray(send).reshape(-1)
    result = mine.copy()
    others = [p for p in range(size) if p != rank]
    for i in range(len(mine)):
        boxes = [np.empty(1, mine.dtype) for _ in others]
        requests = [comm.Irecv(box, source=p, tag=i % 1000) for box, p in zip(boxes, others)]
        requests += [comm.Isend(mine[i:i + 1], dest=p, tag=i % 1000) for p in others]
        MPI.Request.Waitall(requests)
        for box in boxes:
            result[i:i + 1] = op(result[i:i + 1], box)
    recv[...] = result.reshape(recv.shape)
