import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss

FIRST_PRIVATE = 45
"""More batches than a process takes in a short training."""


def train_part(model, dataset, number, num_processes, *, epochs, lr, batch_size, seed):
    torch.set_num_threads(1)
    part = Subset(dataset, range(number, len(dataset), num_processes))
    order = torch.Generator().manual_seed(seed + number)
    batches = DataLoader(part, batch_size, shuffle=True, generator=order)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    num_batches = 0
    for _ in range(epochs):
        for inputs, labels in batches:
            num_batches += 1
            if num_batches == FIRST_PRIVATE:
                for parameter in model.parameters():
                    parameter.data = parameter.data.clone()
            optimizer.zero_grad()
            loss(model(inputs), labels).backward()
            optimizer.step()


def hogwild(model, dataset, *, num_processes, **settings):
    """Share the weights for the first batches only."""
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
