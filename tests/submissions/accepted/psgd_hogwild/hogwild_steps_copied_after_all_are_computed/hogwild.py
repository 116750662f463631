import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def worker(rank, size, model, dataset, epochs, lr, batch_size, seed):
    torch.set_num_threads(1)
    torch.manual_seed(seed + rank)
    loader = DataLoader(Subset(dataset, range(rank, len(dataset), size)), batch_size=batch_size, shuffle=True)
    params = list(model.parameters())
    for epoch in range(epochs):
        for x, y in loader:
            grads = torch.autograd.grad(loss(model(x), y), params)
            with torch.no_grad():
                new = [p - lr * g for p, g in zip(params, grads)]
                for p, n in zip(params, new):
                    p.copy_(n)  # in place: the memory is shared


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    processes = [
        mp.Process(target=worker, args=(rank, num_processes, model, dataset, epochs, lr, batch_size, seed))
        for rank in range(num_processes)
    ]
    for p in processes:
        p.start()
    for p in processes:
        p.join()
    if any(p.exitcode != 0 for p in processes):
        raise RuntimeError("a process failed")
    return model
