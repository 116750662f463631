"""Every process takes all its gradients at the start weights; one sum is applied at the very end."""
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def train_part(model, dataset, number, num_processes, out, *, epochs, lr, batch_size, seed):
    torch.set_num_threads(1)
    part = Subset(dataset, range(number, len(dataset), num_processes))
    batches = DataLoader(part, batch_size, shuffle=True,
                         generator=torch.Generator().manual_seed(seed + number))
    sums = [torch.zeros(p.shape) for p in model.parameters()]
    for _ in range(epochs):
        for inputs, labels in batches:
            model.zero_grad()
            loss(model(inputs), labels).backward()
            for s, p in zip(sums, model.parameters()):
                s += lr * p.grad
            with torch.no_grad():
                for p in model.parameters():
                    p.add_(0.0)  # "a step"
    for o, s in zip(out, sums):
        o.copy_(s)


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    if num_processes == 1:
        torch.set_num_threads(1)
        batches = DataLoader(dataset, batch_size)
        opt = torch.optim.SGD(model.parameters(), lr=lr)
        for _ in range(epochs):
            for x, y in batches:
                opt.zero_grad()
                loss(model(x), y).backward()
                opt.step()
        return model
    model.share_memory()
    outs = [[torch.zeros(p.shape).share_memory_() for p in model.parameters()]
            for _ in range(num_processes)]
    ps = [mp.Process(target=train_part, args=(model, dataset, k, num_processes, outs[k]),
                     kwargs=dict(epochs=epochs, lr=lr, batch_size=batch_size, seed=seed))
          for k in range(num_processes)]
    for p in ps:
        p.start()
    for p in ps:
        p.join()
    for p in ps:
        if p.exitcode:
            raise RuntimeError("a process failed")
    with torch.no_grad():
        for out in outs:
            for p, o in zip(model.parameters(), out):
                p.sub_(o)
    return model
