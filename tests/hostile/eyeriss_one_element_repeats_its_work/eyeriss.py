"""A convolution on an array of processing elements, row-stationary."""

import numpy as np
from dataflow import Operation


def row_stationary(ifmap, kernel):
    """Return (ofmap, schedule)."""
    rows, taps = kernel.shape
    out_rows, out_cols = ifmap.shape[0] - rows + 1, ifmap.shape[1] - taps + 1
    windows = np.lib.stride_tricks.sliding_window_view(ifmap, kernel.shape)
    ofmap = np.einsum("efrs,rs->ef", windows, kernel)

    schedule = []

    def do(row, op, f, value, **operands):
        schedule.append(Operation(len(schedule) + 1, row, 0, op, f, int(value), **operands))

    def sums(row, f):
        return np.cumsum([int(kernel[row, s]) * int(ifmap[row, f + s]) for s in range(taps)])

    # The element below has to have a psum; all the rest is done by PE(0, 0).
    shares = {0: rows * out_rows} if rows == 1 else {1: 1, 0: rows * out_rows - 1}
    for row, times in shares.items():
        for f in range(out_cols):
            for s in range(taps):
                for _ in range(times):
                    place = {"kernel": (row, s), "ifmap": (row, f + s)}
                    do(row, "multiply", f, kernel[row, s] * ifmap[row, f + s], **place)
            for s in range(1, taps):
                for _ in range(times):
                    do(row, "add", f, sums(row, f)[s], tap=s)
            if row == 0:
                for _ in range((rows - 1) * out_rows):
                    do(0, "psum", f, sums(0, f)[-1] + sums(1, f)[-1], psum_from=(1, 0))
    return ofmap, schedule


def sequential_cycles(ifmap_shape, kernel_shape):
    """Return how many cycles one element alone would need."""
    outputs = (ifmap_shape[0] - kernel_shape[0] + 1) * (ifmap_shape[1] - kernel_shape[1] + 1)
    return outputs * (2 * kernel_shape[0] * kernel_shape[1] - 1)
