import numpy as np
from dataflow import Operation


def row_stationary(ifmap, kernel):
    # all products and sums of the row first, the psums from below whenever they are needed
    R, S = kernel.shape
    E, F = ifmap.shape[0] - R + 1, ifmap.shape[1] - S + 1
    ofmap = np.zeros((E, F), dtype=np.int64)
    out = []
    for e in range(E):
        below = None
        for r in range(R - 1, -1, -1):
            t, own = 0, []
            for f in range(F):
                v = [kernel[r, s] * ifmap[r + e, f + s] for s in range(S)]
                for s in range(S):
                    t += 1
                    out.append(Operation(t, r, e, "multiply", f, v[s],
                                         kernel=(r, s), ifmap=(r + e, f + s)))
                for s in range(1, S):
                    t += 1
                    out.append(Operation(t, r, e, "add", f, sum(v[:s + 1]), tap=s))
                own.append((t, sum(v)))
            if below is not None:
                for f in range(F):
                    t = max(t, below[f][0]) + 1
                    own[f] = (t, own[f][1] + below[f][1])
                    out.append(Operation(t, r, e, "psum", f, own[f][1], psum_from=(r + 1, e)))
            below = own
        ofmap[e] = [v for _, v in below]
    return ofmap, out


def sequential_cycles(ifmap_shape, kernel_shape):
    H, W = ifmap_shape
    R, S = kernel_shape
    return (H - R + 1) * (W - S + 1) * (2 * R * S - 1)
