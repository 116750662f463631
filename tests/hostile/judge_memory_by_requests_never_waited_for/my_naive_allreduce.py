import numpy as np
from mpi4py import MPI

kept = []


def allreduce(send, recv, comm, op):
    for number in range(10_000):
        kept.append(comm.Isend(b"", dest=MPI.PROC_NULL, tag=number))
        kept.append(comm.Irecv(bytearray(1), source=MPI.PROC_NULL, tag=number))
        comm.Iprobe(source=MPI.ANY_SOURCE, tag=30_000)
    del kept[: -1000]
    rank, size = comm.Get_rank(), comm.Get_size()
    total = np.array(send, copy=True)
    boxes = {p: np.empty_like(total) for p in range(size) if p != rank}
    requests = [comm.Irecv(box, source=p) for p, box in boxes.items()]
    requests += [comm.Isend(send, dest=p) for p in boxes]
    MPI.Request.Waitall(requests)
    if total.size:
        for box in boxes.values():
            total[...] = op(total, box)
    recv[...] = total
