import numpy as np
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI


import threading


def allreduce(send, recv, comm, op):
    rank, size = comm.Get_rank(), comm.Get_size()
    arrays = {rank: send}

    def talk_to(other):
        array = np.empty_like(send)
        receiving = comm.Irecv(array, source=other)
        comm.Isend(send, dest=other).Wait()
        receiving.Wait()
        arrays[other] = array

    threads = [threading.Thread(target=talk_to, args=(p,)) for p in range(size) if p != rank]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recv[...] = arrays[0]
    for p in range(1, size):
        recv[...] = op(recv, arrays[p])
