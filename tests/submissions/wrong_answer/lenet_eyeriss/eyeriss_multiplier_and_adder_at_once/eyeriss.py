import numpy as np
from dataflow import Operation


def row_stationary(ifmap, kernel):
    R, S = kernel.shape
    E = ifmap.shape[0] - R + 1
    F = ifmap.shape[1] - S + 1
    ofmap = np.zeros((E, F), dtype=int)
    schedule = []
    for e in range(E):
        ready = {}
        for r in range(R - 1, -1, -1):
            t = 0
            for f in range(F):
                prods = []
                for s in range(S):
                    t += 1
                    prods.append(kernel[r, s] * ifmap[r + e, f + s])
                    schedule.append(Operation(t, r, e, "multiply", f, prods[-1],
                                              kernel=(r, s), ifmap=(r + e, f + s)))
                acc = prods[0]
                done = t
                for s in range(1, S):
                    done += 1
                    acc = acc + prods[s]
                    schedule.append(Operation(done, r, e, "add", f, acc, tap=s))
                if r + 1 < R:
                    done = max(done, ready[r + 1, f][0]) + 1
                    acc = acc + ready[r + 1, f][1]
                    schedule.append(Operation(done, r, e, "psum", f, acc, psum_from=(r + 1, e)))
                ready[r, f] = (done, acc)
        for f in range(F):
            ofmap[e, f] = ready[0, f][1]
    return ofmap, schedule


def sequential_cycles(ifmap_shape, kernel_shape):
    H, W = ifmap_shape
    R, S = kernel_shape
    return (H - R + 1) * (W - S + 1) * (2 * R * S - 1)
