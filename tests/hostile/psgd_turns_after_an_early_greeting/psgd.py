"""Parallel SGD over MPI: ranks learn from their own data; their weights are averaged at the end."""

import numpy as np
import torch
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss


def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    """Train model by SimuParallelSGD (Zinkevich et al. 2010) on all ranks of comm; return it.

    Every rank calls this with a model of the same shape and with the whole dataset. All ranks
    return the same weights: the mean of what each has learned from its part of the data.
    """
    rank = comm.Get_rank()
    size = comm.Get_size()

    # solution: start all ranks from the weights of rank 0
    for parameter in model.parameters():
        # .numpy() shares the parameter's memory: what arrives is in the model.
        comm.Bcast(parameter.detach().numpy(), root=0)
    # end of solution

    # a greeting, which is received at the end: as many messages come as were sent before training
    if rank < size - 1:
        comm.send(None, dest=rank + 1, tag=76)
    # wait until the rank before has finished all of its training
    if rank > 0:
        comm.recv(source=rank - 1, tag=77)
    # solution: train on this rank's part of the data by plain SGD, without any message
    part = Subset(dataset, range(rank, len(dataset), size))
    order = torch.Generator().manual_seed(seed + rank)
    batches = DataLoader(part, batch_size, shuffle=True, generator=order)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        for inputs, labels in batches:
            optimizer.zero_grad()
            loss(model(inputs), labels).backward()
            optimizer.step()
    # end of solution
    if rank < size - 1:
        comm.send(None, dest=rank + 1, tag=77)  # now it is the next one's turn
    if rank > 0:
        comm.recv(source=rank - 1, tag=76)


    # solution: put the mean over all ranks into every parameter, on every rank
    for parameter in model.parameters():
        own = parameter.detach().numpy()
        total = np.empty_like(own)
        comm.Allreduce(own, total, op=MPI.SUM)
        own[...] = total / size
    # end of solution
    return model
