import copy
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def train(rank, P, model, dataset, epochs, lr, batch_size, queue):
    loader = DataLoader(Subset(dataset, range(rank, len(dataset), P)), batch_size)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()
    queue.put([p.detach().numpy() for p in model.parameters()])


def guarded(*args):
    try:
        train(*args)
    except Exception as error:
        args[-1].put(error)


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    queue = mp.Queue()
    procs = [mp.Process(target=guarded, args=(r, num_processes, model, dataset, epochs, lr, batch_size, queue))
             for r in range(num_processes)]
    for p in procs:
        p.start()
    results = [queue.get() for _ in procs]
    for r in results:
        if isinstance(r, Exception):
            raise r
    for p in procs:
        p.join()
        assert p.exitcode == 0
    for i, p in enumerate(model.parameters()):
        p.data = torch.from_numpy(sum(r[i] for r in results) / num_processes)
    return model
