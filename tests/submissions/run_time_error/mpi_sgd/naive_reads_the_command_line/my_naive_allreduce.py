import sys
import numpy as np
from mpi4py import MPI

LENGTH = int(sys.argv[1])          # python my_naive_allreduce.py 1000


def allreduce(send, recv, comm, op):
    rank = comm.Get_rank()
    recv[...] = send
    peers = [p for p in range(comm.Get_size()) if p != rank]
    boxes = [np.empty_like(send) for _ in peers]
    MPI.Request.Waitall([comm.Isend(send, p) for p in peers] + [comm.Irecv(b, p) for b, p in zip(boxes, peers)])
    for box in boxes:
        recv[...] = op(recv, box)


if __name__ == "__main__":
    data = np.random.rand(LENGTH)
    out = np.zeros_like(data)
    allreduce(data, out, MPI.COMM_WORLD, np.add)
    print(out[:5])
