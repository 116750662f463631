import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss

def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    rank, size = comm.Get_rank(), comm.Get_size()
    torch.manual_seed(seed + rank)
    mine = Subset(dataset, list(range(rank, len(dataset), size)))
    loader = DataLoader(mine, batch_size=batch_size, shuffle=True)
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            l = loss(model(x), y)
            l.backward()
            opt.step()
        print("rank", rank, "epoch", epoch, "loss", l.item())

    for p in model.parameters():
        buf = np.zeros(p.shape, dtype=np.float32)
        comm.Allreduce(p.detach().numpy(), buf, op=MPI.SUM)
        p.data = torch.from_numpy(buf / size)
    return model
