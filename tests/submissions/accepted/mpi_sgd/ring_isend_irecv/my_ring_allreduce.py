import numpy as np
from mpi4py import MPI


def ringallreduce(send, recv, comm, op):
    """ ring all reduce

    send  - the array of this process
    recv  - gets the reduced array
    comm  - communicator
    op    - associative commutative operator
    """
    rank = comm.Get_rank()
    size = comm.Get_size()
    right = (rank + 1) % size
    left = (rank - 1) % size

    recv[...] = send
    chunks = np.array_split(recv.reshape(-1), size)

    # first round: reduce-scatter
    for i in range(size - 1):
        out_chunk = chunks[(rank - i) % size]
        in_chunk = chunks[(rank - i - 1) % size]
        temp = np.empty_like(in_chunk)
        reqs = [comm.Irecv(temp, source=left, tag=i),
                comm.Isend(out_chunk, dest=right, tag=i)]
        MPI.Request.Waitall(reqs)
        in_chunk[...] = op(in_chunk, temp)

    # second round: all-gather
    for i in range(size - 1):
        out_chunk = chunks[(rank + 1 - i) % size]
        in_chunk = chunks[(rank - i) % size]
        reqs = [comm.Irecv(in_chunk, source=left, tag=size + i),
                comm.Isend(out_chunk, dest=right, tag=size + i)]
        MPI.Request.Waitall(reqs)
