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
    for epoch in range(epochs):
        for x, y in DataLoader(part, batch_size):
            loss(model(x), y).backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= lr * p.grad
    for p in model.parameters():
        comm.Allreduce(MPI.IN_PLACE, p.data.numpy(), op=MPI.SUM)
        p.data /= size
    return model
