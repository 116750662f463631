import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def train(model, part, epochs, lr, batch_size):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(epochs):
        for data, target in DataLoader(part, batch_size=batch_size, shuffle=True):
            optimizer.zero_grad()
            loss(model(data), target).backward()
            optimizer.step()


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    n = len(dataset) // num_processes
    processes = []
    for rank in range(num_processes):
        part = Subset(dataset, range(rank * n, rank * n + n))
        p = mp.Process(target=train, args=(model, part, epochs, lr, batch_size))
        p.start()
        processes.append(p)
    for p in processes:
        p.join()
        assert p.exitcode == 0
    return model
