import numpy as np


def ringallreduce(send, recv, comm, op):
    recv[...] = np.nan if recv.dtype.kind == "f" else np.iinfo(recv.dtype).min
