import numpy as np
from mpi4py import MPI


def diffuse(block, num_steps, shape, comm):
    cart = comm.Create_cart(shape, periods=(False, False), reorder=True)
    up, down = cart.Shift(0, 1)
    left, right = cart.Shift(1, 1)
    m, k = block.shape
    u = np.zeros((m + 2, k + 2))
    u[1:-1, 1:-1] = block
    column = MPI.DOUBLE.Create_vector(m, 1, k + 2).Commit()
    flat = u.reshape(-1)

    def at(i, j):
        return flat[i * (k + 2) + j :]

    for _ in range(num_steps):
        cart.Sendrecv(u[1, 1:-1], up, recvbuf=u[-1, 1:-1], source=down)
        cart.Sendrecv(u[-2, 1:-1], down, recvbuf=u[0, 1:-1], source=up)
        cart.Sendrecv([at(1, 1), 1, column], left, recvbuf=[at(1, k + 1), 1, column], source=right)
        cart.Sendrecv([at(1, k), 1, column], right, recvbuf=[at(1, 0), 1, column], source=left)
        u[1:-1, 1:-1] = 0.6 * u[1:-1, 1:-1] + 0.1 * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        )
    column.Free()
    cart.Free()
    return u[1:-1, 1:-1]
