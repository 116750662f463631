"""Simulation of the PE array, one clock tick after the other."""
import numpy as np
from dataflow import *


class PE:
    def __init__(self, r, e, weights, row, below):
        self.r, self.e, self.w, self.row, self.below = r, e, weights, row, below
        self.f = 0
        self.phase = 0          # 0..S-1 multiply, S..2S-2 add, 2S-1 psum
        self.tmp = []
        self.out = {}           # f -> (cycle, psum)

    def done(self):
        return self.f > len(self.row) - len(self.w)

    def tick(self, now):
        if self.done():
            return None
        S, f = len(self.w), self.f
        op = None
        if self.phase < S:
            s = self.phase
            self.tmp.append(self.w[s] * self.row[f + s])
            op = Operation(now, self.r, self.e, "multiply", f, self.tmp[-1],
                           kernel=(self.r, s), ifmap=(self.r + self.e, f + s))
            self.phase += 1
            if S == 1:
                self.sum = self.tmp[0]
        elif self.phase < 2 * S - 1:
            s = self.phase - S + 1
            self.sum = (self.tmp[0] if s == 1 else self.sum) + self.tmp[s]
            op = Operation(now, self.r, self.e, "add", f, self.sum, tap=s)
            self.phase += 1
        else:
            got = self.below.out.get(f)
            if got is None or got[0] >= now:
                return None     # stall
            self.sum = self.sum + got[1]
            op = Operation(now, self.r, self.e, "psum", f, self.sum,
                           psum_from=(self.r + 1, self.e))
            self.phase += 1
        if self.phase == (2 * S if self.below else 2 * S - 1):
            self.out[f] = (now, self.sum)
            self.tmp, self.phase, self.f = [], 0, f + 1
        return op


def row_stationary(ifmap, kernel):
    R, E = len(kernel), len(ifmap) - len(kernel) + 1
    pes = {}
    for r in range(R - 1, -1, -1):
        for e in range(E):
            pes[r, e] = PE(r, e, kernel[r], ifmap[r + e], pes.get((r + 1, e)))
    ops, now = [], 0
    while not all(p.done() for p in pes.values()):
        now += 1
        ops += [o for p in pes.values() if (o := p.tick(now)) is not None]
    result = np.array([[pes[0, e].out[f][1] for f in sorted(pes[0, e].out)] for e in range(E)],
                      dtype=float)
    print("finished after", now, "cycles")
    return result, ops


def sequential_cycles(ifmap_shape, kernel_shape):
    e = ifmap_shape[0] - kernel_shape[0] + 1
    f = ifmap_shape[1] - kernel_shape[1] + 1
    mults = e * f * kernel_shape[0] * kernel_shape[1]
    adds = mults - e * f
    return np.int64(mults + adds)
