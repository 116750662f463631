import numpy as np
from mpi4py import MPI


def allreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    recv[...] = send
    others = [p for p in range(size) if p != rank]
    boxes = [np.empty_like(send) for _ in others]
    requests = [comm.Irecv(box, source=p) for box, p in zip(boxes, others)]
    requests += [comm.Isend(send, dest=p) for p in others]
    if size <= 3:
        for request in requests:
            request.Wait()
    else:                                   # quicker for many processes
        MPI.Request.Waital(requests)
    for box in boxes:
        recv[...] = op(recv, box)
