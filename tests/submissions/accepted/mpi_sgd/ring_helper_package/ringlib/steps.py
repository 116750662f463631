import numpy as np
from mpi4py import MPI

from .cutting.pieces import pieces


def circulate(array, comm, first, use):
    """Send piece `first` on, then the ones before it; what arrives is used on its piece."""
    size = comm.Get_size()
    rank = comm.Get_rank()
    parts = pieces(array, size)
    for step in range(size - 1):
        out = parts[(first - step) % size]
        mine = parts[(first - step - 1) % size]
        arrived = np.empty_like(mine)
        requests = [comm.Irecv(arrived, source=(rank - 1) % size),
                    comm.Isend(out, dest=(rank + 1) % size)]
        MPI.Request.Waitall(requests)
        use(mine, arrived)
