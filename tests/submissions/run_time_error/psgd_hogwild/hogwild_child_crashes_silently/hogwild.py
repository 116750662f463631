import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def train(rank, model, parts, epochs, lr, batch_size):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    part = parts[rank]
    for epoch in range(epochs):
        for x, y in DataLoader(part, batch_size):
            opt.zero_grad()
            loss(model(x), y).backward()
            opt.step()


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    # half and half
    parts = [Subset(dataset, range(0, len(dataset), 2)), Subset(dataset, range(1, len(dataset), 2))]
    if num_processes == 1:
        parts = [dataset]
    ps = []
    for r in range(num_processes):
        ps.append(mp.Process(target=train, args=(r, model, parts, epochs, lr, batch_size)))
        ps[-1].start()
    for p in ps:
        p.join()
    return model
