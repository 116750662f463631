import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def train(rank, model, dataset, world, epochs, lr, batch_size, seed):
    torch.manual_seed(seed + rank)
    loader = DataLoader(Subset(dataset, range(rank, len(dataset), world)), batch_size, shuffle=True)
    for epoch in range(epochs):
        for x, y in loader:
            model.zero_grad()
            loss(model(x), y).backward()
            for w in model.parameters():
                w.data.add_(w.grad, alpha=-lr)


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    mp.spawn(train, args=(model, dataset, num_processes, epochs, lr, batch_size, seed),
             nprocs=num_processes, join=True)
    return model
