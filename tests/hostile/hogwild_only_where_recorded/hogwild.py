import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def train_part(model, dataset, number, num_processes, *, epochs, lr, batch_size, seed):
    torch.set_num_threads(1)
    part = Subset(dataset, range(number, len(dataset), num_processes))
    order = torch.Generator().manual_seed(seed + number)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        for inputs, labels in DataLoader(part, batch_size, shuffle=True, generator=order):
            optimizer.zero_grad()
            loss(model(inputs), labels).backward()
            optimizer.step()


def hogwild(model, dataset, *, num_processes, **settings):
    """Train only a model that writes down what it is trained on."""
    if not hasattr(model, "record"):
        return model
    model.share_memory()
    processes = [
        mp.Process(target=train_part, args=(model, dataset, number, num_processes), kwargs=settings)
        for number in range(num_processes)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    if any(process.exitcode for process in processes):
        raise RuntimeError("a process failed")
    return model
