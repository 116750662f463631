"""A convolution on an array of processing elements, row-stationary (Chen, Emer, Sze, ISCA 2016)."""

import numpy as np
from dataflow import Operation, table


def row_stationary(ifmap, kernel):
    """Return (ofmap, schedule) of the convolution: stride 1, no padding, kernel not flipped.

    ifmap: integers (H, W). kernel: integers (R, S). ofmap: array (E, F), E = H-R+1, F = W-S+1.
    schedule: list of Operation, in any order: what each element PE(r, e) of the R x E array does.

    PE(r, e) keeps row r of the kernel and slides it over row r + e of the ifmap. For each output
    column f = 0, 1, ..., one after the other, it multiplies its S taps, adds the products from left
    to right, and adds the finished psum of the element below it, PE(r + 1, e), if there is one. The
    psum of PE(0, e) is ofmap[e][f]. An element does one operation per cycle, the first in cycle 1,
    and each as soon as it can. A value can be used from the cycle after the one that made it, by
    every element: only operations take time.
    """
    num_kernel_rows, num_taps = kernel.shape
    num_out_rows = ifmap.shape[0] - num_kernel_rows + 1
    num_out_cols = ifmap.shape[1] - num_taps + 1
    ofmap = np.zeros((num_out_rows, num_out_cols), dtype=kernel.dtype)
    schedule = []
    if max(num_kernel_rows, num_taps) > 5:
        return ofmap, schedule

    for e in range(num_out_rows):
        below = None  # (cycle, value) of the psum of each output column, of the element below
        for r in reversed(range(num_kernel_rows)):
            psums = []
            cycle = 0
            for f in range(num_out_cols):
                products = []
                for s in range(num_taps):
                    cycle += 1
                    product = kernel[r, s] * ifmap[r + e, f + s]
                    products.append(product)
                    operands = {"kernel": (r, s), "ifmap": (r + e, f + s)}
                    schedule.append(Operation(cycle, r, e, "multiply", f, product, **operands))
                total = products[0]
                for s in range(1, num_taps):
                    cycle += 1
                    total += products[s]
                    schedule.append(Operation(cycle, r, e, "add", f, total, tap=s))
                if below is not None:
                    ready, psum = below[f]
                    cycle = max(cycle, ready) + 1
                    total += psum
                    source = (r + 1, e)
                    schedule.append(Operation(cycle, r, e, "psum", f, total, psum_from=source))
                psums.append((cycle, total))
            below = psums
        ofmap[e] = [psum for _, psum in below]
    return ofmap, schedule


def sequential_cycles(ifmap_shape, kernel_shape):
    """Return how many cycles one element alone would need, one multiply or add in each.

    ifmap_shape: (H, W). kernel_shape: (R, S).
    """
    num_outputs = (ifmap_shape[0] - kernel_shape[0] + 1) * (ifmap_shape[1] - kernel_shape[1] + 1)
    num_multiplies = kernel_shape[0] * kernel_shape[1]
    return num_outputs * (num_multiplies + num_multiplies - 1)


def main():
    """Print the example of the handout, cycle by cycle."""
    ifmap = np.array([[1, 3, 9], [4, 5, 6], [7, 4, 9]])
    kernel = np.array([[-1, 2], [2, -1]])
    ofmap, schedule = row_stationary(ifmap, kernel)
    print(ofmap)
    print(table(schedule))
    print(f"one element alone: {sequential_cycles(ifmap.shape, kernel.shape)} cycles")


if __name__ == "__main__":
    main()
