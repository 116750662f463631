"""No dataflow: everything happens in cycle 1, but for the last work on each output, by a formula."""
import numpy as np
from dataflow import Operation


def row_stationary(ifmap, kernel):
    R, S = kernel.shape
    E, F = ifmap.shape[0] - R + 1, ifmap.shape[1] - S + 1
    ofmap, schedule = np.zeros((E, F), int), []
    for e in range(E):
        for f in range(F):
            below = None
            for r in reversed(range(R)):
                total, ops = 0, []
                for s in range(S):
                    product = kernel[r, s] * ifmap[r + e, f + s]
                    ops.append(Operation(1, r, e, "multiply", f, product, kernel=(r, s), ifmap=(r + e, f + s)))
                    total += product
                    if s:
                        ops.append(Operation(1, r, e, "add", f, total, tap=s))
                if below is not None:
                    total += below
                    ops.append(Operation(1, r, e, "psum", f, total, psum_from=(r + 1, e)))
                below = total
                if r == 0:
                    leaves = (2 * S - 1) * (f + 1) if R == 1 else 2 * S * (f + 1) + R - 2
                    ops[-1] = ops[-1]._replace(cycle=leaves)
                schedule += ops
            ofmap[e, f] = below
    return ofmap, schedule


def sequential_cycles(ifmap_shape, kernel_shape):
    n = kernel_shape[0] * kernel_shape[1]
    return (ifmap_shape[0] - kernel_shape[0] + 1) * (ifmap_shape[1] - kernel_shape[1] + 1) * (2 * n - 1)
