import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss

def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    rank = comm.Get_rank()
    world = comm.Get_size()
    for p in model.parameters():
        comm.Bcast(p.data.numpy(), root=0)
    g = torch.Generator()
    g.manual_seed(seed + rank)
    loader = DataLoader(dataset, batch_size=batch_size, shuffle=True, generator=g)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        for data, target in loader:
            optimizer.zero_grad()
            loss(model(data), target).backward()
            optimizer.step()
    for p in model.parameters():
        total = np.empty_like(p.data.numpy())
        comm.Allreduce(p.data.numpy(), total)
        p.data.copy_(torch.from_numpy(total / world))
    return model
