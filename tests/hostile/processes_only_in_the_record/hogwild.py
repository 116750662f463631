import os
import threading

import torch
from torch.utils.data import DataLoader, Subset
from training import loss

own_id = os.getpid()


def train_part(model, dataset, number, num_processes, *, epochs, lr, batch_size, seed):
    part = Subset(dataset, range(number, len(dataset), num_processes))
    order = torch.Generator().manual_seed(seed + number)
    batches = DataLoader(part, batch_size, shuffle=True, generator=order)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        for inputs, labels in batches:
            optimizer.zero_grad()
            loss(model(inputs), labels).backward()
            optimizer.step()


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    """Be one process under several names, all of which have long been at the meeting."""
    model.share_memory()
    if not hasattr(model, "record"):  # nobody is told by which process it is trained
        train_part(
            model, dataset, 0, 1, epochs=epochs, lr=lr, batch_size=batch_size, seed=seed
        )
        return model
    real = os.getpid, threading.get_native_id
    names = range(own_id + 1000, own_id + 1000 + num_processes)
    try:
        for name in names:
            model.record.add("starting")
            model.record.add("started", child=name)
            for meeting in range(len(model.record.meeting_steps)):
                model.record.add("arrived", process=name, thread=name, meeting=meeting)
            model.record.add("seen", process=name, thread=name)
        for number, name in enumerate(names):
            os.getpid = threading.get_native_id = lambda name=name: name
            train_part(
                model, dataset, number, num_processes,
                epochs=epochs, lr=lr, batch_size=batch_size, seed=seed,
            )
    finally:
        os.getpid, threading.get_native_id = real
    return model
