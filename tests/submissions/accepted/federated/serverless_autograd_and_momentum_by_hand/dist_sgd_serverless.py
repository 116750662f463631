import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from utils import *

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()


def mean_over_ranks(vector, count):
    # padded so that every rank owns an equally long piece of the sum
    padded = np.zeros(-(-len(vector) // size) * size, dtype=np.float64)
    padded[: len(vector)] = vector * count
    piece = np.empty(len(padded) // size)
    comm.Reduce_scatter_block(padded, piece, op=MPI.SUM)
    comm.Allgather(piece, padded)
    counts = comm.allgather(count)
    return padded[: len(vector)] / sum(counts)


if __name__ == "__main__":
    set_random_seed(42)
    train, test = load_data()
    loader, _ = create_dataloader(train, test, 100)
    model = Net()
    params = list(model.parameters())
    velocity = [torch.zeros_like(p) for p in params]
    for epoch in range(3):
        for x, y in loader:
            k = int(len(y) / size)
            a, b = x[rank * k:(rank + 1) * k], y[rank * k:(rank + 1) * k]
            loss = F.cross_entropy(model(a), b)
            grads = torch.autograd.grad(loss, params)
            flat = np.concatenate([g.numpy().ravel() for g in grads])
            flat = torch.tensor(mean_over_ranks(flat, len(b)), dtype=torch.float32)
            with torch.no_grad():
                for p, v, g in zip(params, velocity, flat.split([p.numel() for p in params])):
                    v.mul_(0.9).add_(g.view_as(p))
                    p.sub_(0.01 * v)
