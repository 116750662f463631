import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss

def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    rank, size = comm.Get_rank(), comm.Get_size()
    model.load_state_dict(comm.bcast(model.state_dict(), root=0))
    indices = np.array_split(np.arange(len(dataset)), size)[rank]
    loader = DataLoader(Subset(dataset, indices.tolist()), batch_size=batch_size)
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    for e in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            loss(model(x), y).backward()
            opt.step()
    states = comm.gather(model.state_dict(), root=0)
    if rank == 0:
        avg = {k: sum(s[k] for s in states) / size for k in states[0]}
        model.load_state_dict(avg)
    return model
