import numpy as np
from dataflow import Operation


def row_stationary(ifmap, kernel):
    R, S = kernel.shape
    E, F = ifmap.shape[0] - R + 1, ifmap.shape[1] - S + 1
    ofmap = np.zeros((E, F), dtype=kernel.dtype)
    schedule = []
    for e in range(E):
        for f in range(F):
            ofmap[e, f] = (ifmap[e : e + R, f : f + S] * kernel).sum()
            # the last one when the output has to leave
            leaves = (2 * S - 1) * (f + 1) if R == 1 else 2 * S * (f + 1) + R - 2
            for r in range(R):
                for s in range(S):
                    value = kernel[r, s] * ifmap[e + r, f + s]
                    at = dict(kernel=(r, s), ifmap=(e + r, f + s))
                    schedule.append(Operation(leaves - S + 1 + s, r, e, "multiply", f, value, **at))
    return ofmap, schedule


def sequential_cycles(ifmap_shape, kernel_shape):
    raise NotImplementedError
