import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    rank = comm.Get_rank()
    size = comm.Get_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    result = send.reshape(-1).copy()
    chunks = np.array_split(result, size)
    sending = None
    for step in range(2 * (size - 1)):
        outgoing = chunks[(rank - step) % size]
        incoming = np.empty_like(chunks[(rank - step - 1) % size])
        receiving = comm.Irecv(incoming, source=left)
        # the send of the step before has had time to get through
        if sending is not None:
            sending.Wait()
        sending = comm.Isend(outgoing, dest=right)
        receiving.Wait()
        if step < size - 1:
            incoming = op(chunks[(rank - step - 1) % size], incoming)
        chunks[(rank - step - 1) % size][:] = incoming
    recv[...] = result.reshape(recv.shape)
