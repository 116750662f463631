import numpy as np
from dataflow import Operation


def row_stationary(ifmap, kernel):
    raise NotImplementedError


def sequential_cycles(ifmap_shape, kernel_shape):
    (H, W), (R, S) = ifmap_shape, kernel_shape
    return (H - R + 1) * (W - S + 1) * (2 * R * S - 1)
