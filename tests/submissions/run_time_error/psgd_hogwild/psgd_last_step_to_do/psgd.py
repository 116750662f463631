import numpy as np
import torch
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss


def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    """Train model by SimuParallelSGD (Zinkevich et al. 2010) on all ranks of comm; return it."""
    rank = comm.Get_rank()
    size = comm.Get_size()

    for w in model.parameters():
        comm.Bcast([w.detach().numpy(), MPI.FLOAT], root=0)

    mine = Subset(dataset, range(rank * len(dataset) // size, (rank + 1) * len(dataset) // size))
    sgd = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        for inputs, labels in DataLoader(mine, batch_size=batch_size):
            sgd.zero_grad()
            loss(model(inputs), labels).backward()
            sgd.step()

    # TODO
    raise NotImplementedError("the mean over all ranks of every parameter, on every rank")
    return model
