import numpy as np
import torch
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss

def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    rank, size = comm.Get_rank(), comm.Get_size()
    params = list(model.parameters())
    for p in params:
        comm.Bcast(p.data.numpy(), root=0)

    flag = np.zeros(1)
    if rank > 0:
        comm.Ssend(flag, dest=rank - 1)

    part = Subset(dataset, range(rank, len(dataset), size))
    for _ in range(epochs):
        for x, y in DataLoader(part, batch_size):
            grads = torch.autograd.grad(loss(model(x), y), params)
            with torch.no_grad():
                for p, g in zip(params, grads):
                    p.sub_(g, alpha=lr)

    if rank < size - 1:
        comm.Recv(flag, source=rank + 1)

    for p in params:
        comm.Allreduce(MPI.IN_PLACE, p.data.numpy(), op=MPI.SUM)
        p.data /= size
    return model
