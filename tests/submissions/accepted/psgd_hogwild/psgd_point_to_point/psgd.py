import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss

def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    rank, size = comm.Get_rank(), comm.Get_size()
    params = list(model.parameters())
    # start: rank 0 sends its weights round
    if rank == 0:
        for r in range(1, size):
            for p in params:
                comm.Send(p.data.numpy(), dest=r)
    else:
        for p in params:
            comm.Recv(p.data.numpy(), source=0)

    part = Subset(dataset, range(rank, len(dataset), size))
    for _ in range(epochs):
        for x, y in DataLoader(part, batch_size):
            grads = torch.autograd.grad(loss(model(x), y), params)
            with torch.no_grad():
                for p, g in zip(params, grads):
                    p.sub_(g, alpha=lr)

    for p in params:
        mine = p.detach().numpy().copy()
        got = [np.empty_like(mine) for _ in range(size - 1)]
        others = [r for r in range(size) if r != rank]
        reqs = [comm.Irecv(b, source=r, tag=7) for b, r in zip(got, others)]
        reqs += [comm.Isend(mine, dest=r, tag=7) for r in others]
        MPI.Request.Waitall(reqs)
        by_rank = dict(zip(others, got))
        by_rank[rank] = mine
        p.data.copy_(torch.from_numpy(sum(by_rank[r] for r in range(size)) / size))
    return model
