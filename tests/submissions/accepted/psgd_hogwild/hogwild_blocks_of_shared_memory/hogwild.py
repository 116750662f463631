import multiprocessing
from multiprocessing.shared_memory import SharedMemory

import numpy as np
import torch
from torch.utils.data import DataLoader, Subset
from training import loss


def move(parameter):
    """Put a parameter into a block that all processes see; return the block."""
    values = parameter.detach().numpy()
    block = SharedMemory(create=True, size=values.nbytes)
    there = np.ndarray(values.shape, values.dtype, buffer=block.buf)
    there[...] = values
    parameter.data = torch.from_numpy(there)
    return block


def work(number, count, model, dataset, epochs, lr, batch_size, seed):
    torch.set_num_threads(1)
    order = torch.Generator().manual_seed(seed + number)
    mine = DataLoader(Subset(dataset, range(number, len(dataset), count)), batch_size, shuffle=True, generator=order)
    for _ in range(epochs):
        for x, y in mine:
            model.zero_grad()
            loss(model(x), y).backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= lr * p.grad


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    fork = multiprocessing.get_context("fork")
    blocks = [move(p) for p in model.parameters()]
    workers = [
        fork.Process(target=work, args=(k, num_processes, model, dataset, epochs, lr, batch_size, seed))
        for k in range(num_processes)
    ]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    for p in model.parameters():
        p.data = p.data.clone()
    for block in blocks:
        block.close()
        block.unlink()
    if any(w.exitcode != 0 for w in workers):
        raise RuntimeError("a worker failed")
    return model
