"""Hogwild: processes update one set of weights in shared memory, and none waits for another."""

import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def train_part(model, dataset, number, num_processes, *, epochs, lr, batch_size, seed):
    """Be process `number` of num_processes: train the shared model on its part of the data."""
    # solution: train on part `number` of the data by plain SGD, with its own optimizer
    torch.set_num_threads(1)  # the processes share the cores
    part = Subset(dataset, range(number, len(dataset), num_processes))
    order = torch.Generator().manual_seed(seed + number)
    batches = DataLoader(part, batch_size, shuffle=True, generator=order)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        for inputs, labels in batches:
            optimizer.zero_grad()
            loss(model(inputs), labels).backward()
            for p in model.parameters():
                array = p.detach().numpy()
                array -= lr * p.grad.numpy()
    # end of solution


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    """Train model by Hogwild (Niu et al. 2011) in num_processes processes; return it."""
    # solution: share the weights, start the processes, wait for them, check that none failed
    model.share_memory()
    processes = [
        mp.Process(
            target=train_part,
            args=(model, dataset, number, num_processes),
            kwargs={"epochs": epochs, "lr": lr, "batch_size": batch_size, "seed": seed},
        )
        for number in range(num_processes)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    for number, process in enumerate(processes):
        if process.exitcode != 0:
            raise RuntimeError(f"process {number} ended with exit code {process.exitcode}")
    # end of solution
    return model
