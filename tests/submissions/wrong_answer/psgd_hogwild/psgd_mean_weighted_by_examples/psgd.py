import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss

def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    rank, size = comm.Get_rank(), comm.Get_size()
    for p in model.parameters():
        comm.Bcast(p.data.numpy(), root=0)
    part = Subset(dataset, range(rank, len(dataset), size))
    loader = DataLoader(part, batch_size, shuffle=True, generator=torch.Generator().manual_seed(seed))
    opt = torch.optim.SGD(model.parameters(), lr)
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            loss(model(x), y).backward()
            opt.step()
    n = comm.allreduce(len(part))
    for p in model.parameters():
        p.data *= len(part) / n
        comm.Allreduce(MPI.IN_PLACE, p.data.numpy(), op=MPI.SUM)
    return model
