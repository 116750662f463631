import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss

_net = None


def remember(net):
    global _net
    _net = net


def work(job):
    part, epochs, lr, batch_size = job
    opt = torch.optim.SGD(_net.parameters(), lr=lr)
    n = 0
    for _ in range(epochs):
        for x, y in DataLoader(part, batch_size, shuffle=True):
            opt.zero_grad()
            loss(_net(x), y).backward()
            opt.step()
            n += 1
    return n


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    shared = model.share_memory()
    jobs = [(Subset(dataset, list(range(r, len(dataset), num_processes))), epochs, lr, batch_size)
            for r in range(num_processes)]
    with mp.get_context("fork").Pool(num_processes, initializer=remember, initargs=(shared,)) as pool:
        steps = pool.map(work, jobs, chunksize=1)
    print("steps:", steps)
    return shared
