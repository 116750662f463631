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
    for p in model.parameters():
        mine = p.data.numpy().copy()
        others = [r for r in range(size) if r != rank]
        for r in others:
            comm.Send(mine, dest=r)
        total = mine.copy()
        for r in others:
            theirs = np.empty_like(mine)
            comm.Recv(theirs, source=r)
            total += theirs
        p.data = torch.from_numpy(total / size)
    return model
