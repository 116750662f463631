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
    for epoch in range(epochs):
        running = 0.0
        for x, y in DataLoader(part, batch_size):
            opt.zero_grad()
            l = loss(model(x), y)
            running += l.item()
            l.backward()
            opt.step()
        running = comm.allreduce(running, op=MPI.SUM)
        if rank == 0:
            print(f"epoch {epoch + 1}/{epochs}: loss {running:.4f}")
    for p in model.parameters():
        comm.Allreduce(MPI.IN_PLACE, p.data.numpy(), op=MPI.SUM)
        p.data /= size
    return model
