import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss

def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    rank = comm.Get_rank()
    size = comm.Get_size()
    state = comm.bcast(model.state_dict(), root=0)
    model.load_state_dict(state)

    chunk = len(dataset) // size
    part = Subset(dataset, range(rank * chunk, (rank + 1) * chunk))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    gen = torch.Generator().manual_seed(seed)
    for epoch in range(epochs):
        for x, y in DataLoader(part, batch_size, shuffle=True, generator=gen):
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()

    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(comm.allreduce(p.numpy(), op=MPI.SUM) / size))
    return model
