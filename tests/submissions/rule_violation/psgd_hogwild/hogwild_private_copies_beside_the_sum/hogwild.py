import copy
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def train(rank, P, shared, dataset, epochs, lr, batch_size):
    # train on a private copy, the shared model gets every step as well
    model = copy.deepcopy(shared)
    loader = DataLoader(Subset(dataset, range(rank, len(dataset), P)), batch_size)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()
            with torch.no_grad():
                for s, p in zip(shared.parameters(), model.parameters()):
                    s -= lr * p.grad


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    procs = [mp.Process(target=train, args=(r, num_processes, model, dataset, epochs, lr, batch_size))
             for r in range(num_processes)]
    for p in procs:
        p.start()
    for p in procs:
        p.join()
        assert p.exitcode == 0
    return model
