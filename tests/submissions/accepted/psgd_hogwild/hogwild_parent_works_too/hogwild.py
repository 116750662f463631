import logging

import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss

logging.basicConfig(level=logging.INFO)


def train(r, P, model, dataset, printing, epochs, lr, batch_size):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    for e in range(epochs):
        for x, y in DataLoader(Subset(dataset, range(r, len(dataset), P)), batch_size):
            opt.zero_grad()
            l = loss(model(x), y)
            l.backward()
            opt.step()
        with printing:   # only keeps the lines apart
            logging.info("process %d epoch %d loss %.3f", r, e, l.item())


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    printing = mp.Lock()
    rest = (num_processes, model, dataset, printing, epochs, lr, batch_size)
    children = [mp.Process(target=train, args=(r, *rest)) for r in range(1, num_processes)]
    for c in children:
        c.start()
    train(0, *rest)
    for c in children:
        c.join()
    if any(c.exitcode for c in children):
        raise RuntimeError('a child failed')
    return model
