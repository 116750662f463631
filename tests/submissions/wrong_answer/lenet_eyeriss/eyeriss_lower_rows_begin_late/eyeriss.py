"""A closed form: only row 0 keeps the model's times; the rows below start as late as they may, outputs out of order."""

import numpy as np
from dataflow import Operation


def sequential_cycles(ifmap_shape, kernel_shape):
    (h, w), (r, s) = ifmap_shape, kernel_shape
    return (h - r + 1) * (w - s + 1) * (2 * r * s - 1)


def row_stationary(ifmap, kernel):
    (h, w), (R, S) = ifmap.shape, kernel.shape
    E, F = h - R + 1, w - S + 1
    ofmap = np.zeros((E, F), dtype=int)
    done = []
    for e in range(E):
        for f in range(F):
            below = 0
            for r in reversed(range(R)):
                slot = 2 * S if R > 1 else 2 * S - 1
                # PE(0, e) leaves at 2S(f+1)+R-2; each row below leaves one cycle before it
                end = slot * (f + 1) + (R - 2 - r if R > 1 else 0)
                last = R - 1 == r
                t = end - (2 * S - 1) if not last else end - (2 * S - 2)
                if r == 0 and f == 0:
                    t = 1
                products = [int(kernel[r, s] * ifmap[r + e, f + s]) for s in range(S)]
                for s in range(S):
                    done.append(Operation(t + s, r, e, "multiply", f, products[s], kernel=(r, s), ifmap=(r + e, f + s)))
                for s in range(1, S):
                    done.append(Operation(t + S + s - 1, r, e, "add", f, sum(products[: s + 1]), tap=s))
                total = sum(products)
                if not last:
                    total += below
                    done.append(Operation(end, r, e, "psum", f, total, psum_from=(r + 1, e)))
                below = total
            ofmap[e, f] = below
    return ofmap, done
