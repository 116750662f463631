"""A convolution on an array of processing elements, row-stationary."""

import numpy as np
from dataflow import Operation


def row_stationary(ifmap, kernel):
    """Return (ofmap, schedule): the operations have a time each, and nothing else."""
    rows, taps = kernel.shape
    out_rows, out_cols = ifmap.shape[0] - rows + 1, ifmap.shape[1] - taps + 1
    windows = np.lib.stride_tricks.sliding_window_view(ifmap, kernel.shape)
    schedule = []
    for e in range(out_rows):
        for r in range(rows):
            # The last row has no psum to wait for; the others have one for each column.
            free = 0
            for f in range(out_cols):
                for s in range(taps):
                    schedule.append(Operation(free + 1 + s, r, e, "multiply", f, 0))
                for s in range(1, taps):
                    schedule.append(Operation(free + taps + s, r, e, "add", f, 0, tap=s))
                free += 2 * taps - 1
                if r + 1 < rows:
                    free = 2 * taps * (f + 1) + rows - 2 - r
                    source = (r + 1, e)
                    schedule.append(Operation(free, r, e, "psum", f, 0, psum_from=source))
    return np.einsum("efrs,rs->ef", windows, kernel), schedule


def sequential_cycles(ifmap_shape, kernel_shape):
    """Return how many cycles one element alone would need."""
    outputs = (ifmap_shape[0] - kernel_shape[0] + 1) * (ifmap_shape[1] - kernel_shape[1] + 1)
    return outputs * (2 * kernel_shape[0] * kernel_shape[1] - 1)
