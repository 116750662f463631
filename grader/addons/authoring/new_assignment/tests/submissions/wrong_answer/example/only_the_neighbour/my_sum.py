import numpy as np


def sum_over_ranks(send, recv, comm):
    rank, size = comm.Get_rank(), comm.Get_size()
    request = comm.Isend(send, dest=(rank + 1) % size)
    arrived = np.empty_like(send)
    comm.Recv(arrived, source=(rank - 1) % size)
    request.Wait()
    recv[...] = send + arrived
