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
    opt = torch.optim.SGD(model.parameters(), lr)
    for _ in range(epochs):
        for x, y in DataLoader(part, batch_size):
            opt.zero_grad()
            loss(model(x), y).backward()
            opt.step()
    if rank == 0:
        for p in model.parameters():
            total = np.empty_like(p.data.numpy())
            comm.Reduce(p.data.numpy(), total, op=MPI.SUM, root=0)
            p.data = torch.from_numpy(total / size)
    return model
