import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss

def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    rank = comm.Get_rank()
    size = comm.Get_size()
    model.load_state_dict(comm.bcast(model.state_dict()))
    part = Subset(dataset, range(rank, len(dataset), size))
    loader = DataLoader(part, batch_size, drop_last=True)
    sgd = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        for x, y in loader:
            sgd.zero_grad()
            loss(model(x), y).backward()
            sgd.step()
    for p in model.parameters():
        mean = np.zeros_like(p.data.numpy())
        comm.Allreduce(p.data.numpy(), mean)
        p.data = torch.tensor(mean) / size
    return model
