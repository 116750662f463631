import numpy as np
from dataflow import Operation


def row_stationary(ifmap, kernel):
    R, S = kernel.shape
    E = ifmap.shape[0] - R + 1
    F = ifmap.shape[1] - S + 1
    ofmap = np.zeros((E, F), dtype=int)
    for e in range(E):
        for f in range(F):
            ofmap[e, f] = (ifmap[e:e + R, f:f + S] * kernel).sum()
    schedule = []  # did not get this far
    return ofmap, schedule


def sequential_cycles(ifmap_shape, kernel_shape):
    H, W = ifmap_shape
    R, S = kernel_shape
    outputs = (H - R + 1) * (W - S + 1)
    return outputs * (2 * R * S - 1)
