import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import torch
from torch.utils.data import DataLoader, Subset
from training import loss

shared = {}


def work(number):
    torch.set_num_threads(1)
    model, dataset, settings = shared["model"], shared["dataset"], shared["settings"]
    part = Subset(dataset, range(number, len(dataset), settings["P"]))
    for _ in range(settings["epochs"]):
        for inputs, labels in DataLoader(part, settings["batch_size"], shuffle=True):
            model.zero_grad()
            loss(model.forward(inputs), labels).backward()
            for p in model.parameters():
                p.data.sub_(settings["lr"] * p.grad)
    return number


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    torch.manual_seed(seed)
    model.share_memory()
    shared.update(model=model, dataset=dataset)
    shared["settings"] = {"epochs": epochs, "lr": lr, "batch_size": batch_size, "P": num_processes}
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(num_processes, mp_context=context) as pool:
        done = [pool.submit(work, number) for number in range(num_processes)]
        for future in done:
            future.result()
    return model
