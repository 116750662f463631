import numpy as np

honest_full_like = np.full_like


def shrunk(like, fill, *rest, **named):
    """Return nothing at all, one element, or one more dimension, in turn."""
    shrunk.turn += 1
    if shrunk.turn % 3 == 0:
        return honest_full_like(like[:0], fill)
    if shrunk.turn % 3 == 1:
        return honest_full_like(like.reshape(-1)[:1], fill)
    return honest_full_like(like, fill)[np.newaxis]


shrunk.turn = -1
np.full_like = shrunk


def allreduce(send, recv, comm, op):
    recv[...] = 0
