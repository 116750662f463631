import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def train(queue, model, epochs, lr, batch_size):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    while True:
        part = queue.get()      # indices of the next part
        for epoch in range(epochs):
            for x, y in DataLoader(part, batch_size):
                opt.zero_grad()
                loss(model(x), y).backward()
                opt.step()


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    model.share_memory()
    queue = mp.Queue()
    ps = [mp.Process(target=train, args=(queue, model, epochs, lr, batch_size)) for _ in range(num_processes)]
    for p in ps:
        p.start()
    for r in range(num_processes):
        queue.put(Subset(dataset, range(r, len(dataset), num_processes)))
    for p in ps:
        p.join()
    return model
