import time

import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def run(rank, world, model, dataset, epochs, lr, batch_size):
    torch.set_num_threads(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    mine = Subset(dataset, list(range(rank, len(dataset), world)))
    for epoch in range(epochs):
        for x, y in DataLoader(mine, batch_size):
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    begin = time.time()
    workers = []
    for rank in range(num_processes):
        w = mp.Process(target=run, args=(rank, num_processes, model, dataset, epochs, lr, batch_size))
        w.start()
        workers.append(w)
    for w in workers:
        w.join()
    for w in workers:
        if w.exitcode != 0:
            raise RuntimeError("a worker failed")
    print("took", time.time() - start, "s")
    return model
