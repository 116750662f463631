import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader
from training import loss


def train(rank, model, dataset, epochs, lr, batch_size, seed):
    torch.manual_seed(seed + rank)
    train_loader = DataLoader(dataset, batch_size=batch_size, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(1, epochs + 1):
        for data, target in train_loader:
            optimizer.zero_grad()
            loss(model(data), target).backward()
            optimizer.step()


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    processes = []
    for rank in range(num_processes):
        p = mp.Process(target=train, args=(rank, model, dataset, epochs, lr, batch_size, seed))
        p.start()
        processes.append(p)
    for p in processes:
        p.join()
        assert p.exitcode == 0
    return model
