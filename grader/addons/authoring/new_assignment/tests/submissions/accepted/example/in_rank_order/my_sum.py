import numpy as np


def sum_over_ranks(send, recv, comm):
    rank, size = comm.Get_rank(), comm.Get_size()
    arrived = [send if source == rank else np.empty_like(send) for source in range(size)]
    for source in range(size):
        for dest in range(size):
            if rank == source != dest:
                comm.Send(send, dest=dest)
            elif rank == dest != source:
                comm.Recv(arrived[source], source=source)
    recv[...] = sum(arrived)
