import numpy as np


def solve(b, num_iterations, comm):
    """Return this rank's part of x after the iterations."""
    rank, size = comm.Get_rank(), comm.Get_size()

    def total(number):
        result = np.empty(1)
        comm.Allreduce(np.array([number]), result)
        return result[0]

    x, residual = np.zeros_like(b), b.copy()
    direction = np.zeros(len(b) + 2)  # with a number of the rank before, and one of that after
    direction[1:-1] = b
    squared = total(residual @ residual)
    for _ in range(num_iterations):
        everything = np.zeros(size * len(b) + 2)
        comm.Allgather(direction[1:-1].copy(), everything[1:-1])
        direction[:] = everything[rank * len(b) : (rank + 1) * len(b) + 2]
        image = 2.5 * direction[1:-1] - direction[:-2] - direction[2:]
        step = squared / total(direction[1:-1] @ image)
        x += step * direction[1:-1]
        residual -= step * image
        squared, last = total(residual @ residual), squared
        direction[1:-1] = residual + squared / last * direction[1:-1]
    return x
