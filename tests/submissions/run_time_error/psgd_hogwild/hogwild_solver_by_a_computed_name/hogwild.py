import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss

import importlib

metrics = importlib.import_module("skl" + "earn.metrics")


def train(rank, P, model, dataset, epochs, lr, batch_size):
    torch.set_num_threads(1)
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(epochs):
        for x, y in DataLoader(Subset(dataset, range(rank, len(dataset), P)), batch_size):
            opt.zero_grad()
            loss(model(x), y).backward()
            opt.step()


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    ps = []
    for r in range(num_processes):
        ps.append(mp.Process(target=train, args=(r, num_processes, model, dataset, epochs, lr, batch_size)))
        ps[-1].start()
    for p in ps:
        p.join()
    for p in ps:
        if p.exitcode:
            raise RuntimeError("exit code %d" % p.exitcode)
    return model
