import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss

import copy
import time


def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    t0 = time.time()
    rank, size = comm.rank, comm.size
    net = copy.deepcopy(model)
    net.load_state_dict(comm.bcast(model.state_dict() if rank == 0 else None, root=0))
    mine = [dataset[i] for i in np.array_split(np.arange(len(dataset)), size)[rank]]
    rng = np.random.default_rng(seed)
    for epoch in range(epochs):
        order = rng.permutation(len(mine))
        for b in range(0, len(mine), batch_size):
            batch = [mine[i] for i in order[b:b + batch_size]]
            x = torch.stack([x for x, _ in batch])
            y = torch.stack([y for _, y in batch])
            net.zero_grad()
            l = loss(net(x), y)
            l.backward()
            for p in net.parameters():
                p.data = p.data - lr * p.grad.data
    states = comm.gather(net.state_dict(), root=0)
    avg = None
    if rank == 0:
        avg = {k: torch.stack([s[k] for s in states]).mean(dim=0) for k in states[0]}
    model.load_state_dict(comm.bcast(avg, root=0))
    if rank == 0:
        print(f"{size} ranks: {time.time() - t0:.2f} s")
    return model
