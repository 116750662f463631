import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def train(rank, P, model, dataset, lock, epochs, lr, batch_size, seed):
    torch.manual_seed(seed + rank)
    loader = DataLoader(Subset(dataset, range(rank, len(dataset), P)), batch_size, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            l = loss(model(x), y)
            l.backward()
            with lock:          # two processes must not write at once
                optimizer.step()


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    lock = mp.Lock()
    procs = []
    for r in range(num_processes):
        p = mp.Process(target=train,
                       args=(r, num_processes, model, dataset, lock, epochs, lr, batch_size, seed))
        p.start()
        procs.append(p)
    for p in procs:
        p.join()
        assert p.exitcode == 0
    return model
