import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def train(rank, P, model, dataset, epochs, lr, batch_size, seed):
    torch.manual_seed(seed + rank)
    loader = DataLoader(Subset(dataset, range(rank, len(dataset), P)), batch_size, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    procs = []
    for r in range(num_processes):
        p = mp.Process(target=train, args=(r, num_processes, model, dataset, epochs, lr, batch_size, seed))
        p.start()
        procs.append(p)
    for p in procs:
        p.join()
        assert p.exitcode == 0
    return model
