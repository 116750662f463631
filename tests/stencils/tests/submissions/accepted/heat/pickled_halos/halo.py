import numpy as np


def diffuse(block, num_steps, shape, comm):
    """Return this rank's block after the steps."""
    rows, columns = shape
    row, column = divmod(comm.Get_rank(), columns)
    padded = np.pad(block, 1)
    inner = padded[1:-1, 1:-1]
    sides = [
        (row > 0, -columns, inner[0], padded[0, 1:-1]),
        (row < rows - 1, columns, inner[-1], padded[-1, 1:-1]),
        (column > 0, -1, inner[:, 0], padded[1:-1, 0]),
        (column < columns - 1, 1, inner[:, -1], padded[1:-1, -1]),
    ]
    sides = [(comm.Get_rank() + step, own, halo) for is_there, step, own, halo in sides if is_there]
    for _ in range(num_steps):
        arrived = [comm.sendrecv(own.copy(), rank, source=rank) for rank, own, _ in sides]
        for (_, _, halo), values in zip(sides, arrived, strict=True):
            halo[...] = values
        inner[...] = 0.6 * inner + 0.1 * (
            padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
        )
    return inner
