import numpy as np


def pack(arrays):
    return np.concatenate([array.reshape(-1) for array in arrays])


def unpack(vector, like):
    ends = np.cumsum([array.size for array in like])[:-1]
    return [piece.reshape(array.shape) for piece, array in zip(np.split(vector, ends), like)]
