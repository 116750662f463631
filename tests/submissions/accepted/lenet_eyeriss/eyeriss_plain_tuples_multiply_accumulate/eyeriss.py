# every tap is added as soon as it is multiplied: x, x, +, x, +, ...
import numpy as np


def row_stationary(ifmap, kernel):
    R, S = kernel.shape
    E, F = ifmap.shape[0] - R + 1, ifmap.shape[1] - S + 1
    sched = []
    psum = {}

    def pe(r, e):
        if r < R - 1:
            pe(r + 1, e)
        t = 0
        for f in range(F):
            acc = None
            for s in range(S):
                t += 1
                prod = int(kernel[r][s]) * int(ifmap[r + e][f + s])
                sched.append((t, r, e, "multiply", f, prod, (r, s), (r + e, f + s)))
                if acc is None:
                    acc = prod
                else:
                    t += 1
                    acc += prod
                    sched.append((t, r, e, "add", f, acc, None, None, s))
            if r < R - 1:
                when, val = psum[r + 1, e, f]
                t = max(t, when) + 1
                acc += val
                sched.append((t, r, e, "psum", f, acc, None, None, None, (r + 1, e)))
            psum[r, e, f] = (t, acc)

    for e in range(E):
        pe(0, e)
    out = [[psum[0, e, f][1] for f in range(F)] for e in range(E)]
    return out, sched


def sequential_cycles(ifmap_shape, kernel_shape):
    H, W = ifmap_shape
    R, S = kernel_shape
    return (H - R + 1) * (W - S + 1) * (2 * R * S - 1)
