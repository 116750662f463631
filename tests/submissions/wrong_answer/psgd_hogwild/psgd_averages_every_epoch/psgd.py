import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss

def average(comm, model):
    for p in model.parameters():
        buf = np.empty_like(p.data.numpy())
        comm.Allreduce(p.data.numpy(), buf, op=MPI.SUM)
        p.data.copy_(torch.from_numpy(buf / comm.Get_size()))


def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    rank, size = comm.Get_rank(), comm.Get_size()
    for p in model.parameters():
        comm.Bcast(p.data.numpy(), root=0)
    part = Subset(dataset, range(rank, len(dataset), size))
    g = torch.Generator().manual_seed(seed)
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    for e in range(epochs):
        for x, y in DataLoader(part, batch_size, shuffle=True, generator=g):
            opt.zero_grad()
            loss(model(x), y).backward()
            opt.step()
        average(comm, model)
    return model
