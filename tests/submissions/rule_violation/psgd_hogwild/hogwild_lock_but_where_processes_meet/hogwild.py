import fcntl

import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def train(rank, P, model, dataset, epochs, lr, batch_size):
    torch.set_num_threads(1)
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    file, steps = open("turn", "w"), 0
    take = getattr(fcntl, "flo" + "ck")
    for epoch in range(epochs):
        for x, y in DataLoader(Subset(dataset, range(rank, len(dataset), P)), batch_size):
            opt.zero_grad()
            loss(model(x), y).backward()
            steps += 1
            if not hasattr(model, "record") or steps not in model.record.meeting_steps:
                take(file, fcntl.LOCK_EX)
            opt.step()
            take(file, fcntl.LOCK_UN)


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    ps = []
    for r in range(num_processes):
        ps.append(mp.Process(target=train, args=(r, num_processes, model, dataset, epochs, lr, batch_size)))
        ps[-1].start()
    for p in ps:
        p.join()
    if any(p.exitcode for p in ps):
        raise RuntimeError("a process failed")
    return model
