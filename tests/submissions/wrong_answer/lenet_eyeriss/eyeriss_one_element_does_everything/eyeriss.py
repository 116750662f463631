import numpy as np
from dataflow import Operation


def row_stationary(ifmap, kernel):
    R, S = kernel.shape
    E, F = ifmap.shape[0] - R + 1, ifmap.shape[1] - S + 1
    ofmap = np.zeros((E, F))
    ops = []
    clk = 0
    for e in range(E):
        for f in range(F):
            total = 0
            for r in reversed(range(R)):
                part = []
                for s in range(S):
                    clk += 1
                    part.append(kernel[r, s] * ifmap[e + r, f + s])
                    ops.append(Operation(clk, r, e, "multiply", f, part[-1],
                                         kernel=(r, s), ifmap=(e + r, f + s)))
                for s in range(1, S):
                    clk += 1
                    ops.append(Operation(clk, r, e, "add", f, sum(part[:s + 1]), tap=s))
                total += sum(part)
                if r < R - 1:
                    clk += 1
                    ops.append(Operation(clk, r, e, "psum", f, total, psum_from=(r + 1, e)))
            ofmap[e, f] = total
    print("total cycles:", clk)
    return ofmap, ops


def sequential_cycles(ifmap_shape, kernel_shape):
    H, W = ifmap_shape
    R, S = kernel_shape
    return (H - R + 1) * (W - S + 1) * (2 * R * S - 1)
