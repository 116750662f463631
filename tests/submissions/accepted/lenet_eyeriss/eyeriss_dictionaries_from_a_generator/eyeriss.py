import numpy as np


def operations(ifmap, kernel, out):
    (R, S), (E, F) = kernel.shape, out.shape
    for e in range(E):
        psum = [(0, None)] * F
        for r in reversed(range(R)):
            now, mine = 0, []
            for f in range(F):
                acc = 0
                for s in range(S):
                    now += 1
                    product = int(kernel[r][s]) * int(ifmap[r + e][f + s])
                    yield dict(cycle=now, pe_row=r, pe_col=e, op="multiply", out_col=f, value=product,
                               kernel=[r, s], ifmap=[r + e, f + s])
                    acc += product
                partial = int(kernel[r][0]) * int(ifmap[r + e][f])
                for s in range(1, S):
                    now += 1
                    partial += int(kernel[r][s]) * int(ifmap[r + e][f + s])
                    yield dict(cycle=now, pe_row=r, pe_col=e, op="add", out_col=f, value=partial, tap=s)
                ready, below = psum[f]
                if below is not None:
                    now = max(now, ready) + 1
                    acc += below
                    yield dict(cycle=now, pe_row=r, pe_col=e, op="psum", out_col=f, value=acc,
                               psum_from=np.array([r + 1, e]))
                mine.append((now, acc))
            psum = mine
        out[e] = [value for _, value in psum]


def row_stationary(ifmap, kernel):
    H, W = np.shape(ifmap)
    R, S = np.shape(kernel)
    out = np.zeros((H - R + 1, W - S + 1))
    schedule = tuple(operations(ifmap, kernel, out))
    return [out.tolist(), schedule]


def sequential_cycles(ifmap_shape, kernel_shape):
    (H, W), (R, S) = ifmap_shape, kernel_shape
    return np.int64((H - R + 1) * (W - S + 1)) * (2 * R * S - 1)
