import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    mine = np.ascontiguousarray(send).reshape(-1)
    result = np.empty(0, mine.dtype)
    others = [p for p in range(size) if p != rank]
    for i in range(len(mine)):
        boxes = [np.empty(1, mine.dtype) for _ in others]
        requests = [comm.Irecv(box, source=p, tag=i % 1000) for box, p in zip(boxes, others)]
        requests += [comm.Isend(mine[i:i + 1], dest=p, tag=i % 1000) for p in others]
        MPI.Request.Waitall(requests)
        total = mine[i:i + 1].copy()
        for box in boxes:
            result = result.copy()
            total = op(total, box)
        result = np.append(result, total)
    recv[...] = result.reshape(recv.shape)
