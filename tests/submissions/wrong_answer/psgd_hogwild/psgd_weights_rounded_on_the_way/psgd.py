import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss

import json


def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    rank, size = comm.Get_rank(), comm.Get_size()
    model.load_state_dict(comm.bcast(model.state_dict()))
    part = Subset(dataset, range(rank, len(dataset), size))
    opt = torch.optim.SGD(model.parameters(), lr)
    for epoch in range(epochs):
        for x, y in DataLoader(part, batch_size):
            opt.zero_grad()
            loss(model(x), y).backward()
            opt.step()
    # six digits are enough and make the message readable
    text = json.dumps([[round(v, 6) for v in p.flatten().tolist()] for p in model.parameters()])
    texts = comm.allgather(text)
    if rank == 0:
        print(texts)
    values = [json.loads(t) for t in texts]
    for i, p in enumerate(model.parameters()):
        mean = torch.tensor([v[i] for v in values]).mean(0)
        p.data = mean.reshape(p.shape)
    return model
