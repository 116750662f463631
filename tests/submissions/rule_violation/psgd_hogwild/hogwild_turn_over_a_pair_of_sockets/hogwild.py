import socket

import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def worker(mine, model, part, epochs, lr, batch_size):
    torch.set_num_threads(1)
    for epoch in range(epochs):
        for x, y in DataLoader(part, batch_size, shuffle=True):
            mine.recv(1)  # the parent says when
            model.zero_grad()
            loss(model(x), y).backward()
            with torch.no_grad():
                for w in model.parameters():
                    w -= lr * w.grad
            mine.send(b".")
    mine.close()


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    ps, lines = [], []
    for r in range(num_processes):
        ours, theirs = socket.socketpair()
        part = Subset(dataset, range(r, len(dataset), num_processes))
        ps.append(mp.Process(target=worker, args=(theirs, model, part, epochs, lr, batch_size)))
        ps[-1].start()
        theirs.close()
        lines.append(ours)
    while lines:
        for line in list(lines):
            try:
                line.send(b"!")
                over = not line.recv(1)
            except OSError:
                over = True
            if over:
                lines.remove(line)
    for p in ps:
        p.join()
    if any(p.exitcode for p in ps):
        raise RuntimeError("a process failed")
    return model
