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
    # TODO: compute the ofmap, and list the operations of every element cycle by cycle
    raise NotImplementedError(
        "eyeriss.py: TODO: compute the ofmap, and list the operations of every element cycle by "
        "cycle"
    )


def sequential_cycles(ifmap_shape, kernel_shape):
    """Return how many cycles one element alone would need, one multiply or add in each.

    ifmap_shape: (H, W). kernel_shape: (R, S).
    """
    # TODO: return the number of operations, if one element does all of them
    raise NotImplementedError(
        "eyeriss.py: TODO: return the number of operations, if one element does all of them"
    )


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
