import copy
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def train(rank, P, shared, dataset, epochs, lr, batch_size, seed):
    torch.manual_seed(seed + rank)
    local = copy.deepcopy(shared)
    opt = torch.optim.SGD(shared.parameters(), lr=lr)
    for epoch in range(epochs):
        for x, y in DataLoader(Subset(dataset, range(rank, len(dataset), P)), batch_size, shuffle=True):
            local.load_state_dict(shared.state_dict())
            local.zero_grad()
            loss(local(x), y).backward()
            for s, l in zip(shared.parameters(), local.parameters()):
                s.grad = l.grad
            opt.step()


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    procs = [mp.Process(target=train, args=(r, num_processes, model, dataset, epochs, lr, batch_size, seed))
             for r in range(num_processes)]
    for p in procs:
        p.start()
    for p in procs:
        p.join()
    if any(p.exitcode for p in procs):
        raise RuntimeError("a process failed")
    return model
