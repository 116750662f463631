"""Train by Hogwild, or by plain SGD in this process; report time and accuracy."""

import time
from pathlib import Path

import torch
import torch._dynamo
from study_point import report, settings
from torch.utils.data import DataLoader
from training import accuracy, digits, loss

if Path("network.py").is_file():
    from network import Net

    NETWORK = "own"
else:  # measured all the same, and said
    from plain_network import Net

    NETWORK = "plain"

given = settings()


def plain_sgd(model, dataset, *, epochs, lr, batch_size, seed):
    """Train model by plain SGD in this process; return it."""
    order = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        for inputs, labels in DataLoader(dataset, batch_size, shuffle=True, generator=order):
            optimizer.zero_grad()
            loss(model(inputs), labels).backward()
            optimizer.step()
    return model


def main():
    torch.set_num_threads(1)
    training_set, test_set = digits()
    torch.manual_seed(given["repeat"])
    options = {name: given[name] for name in ("epochs", "lr", "batch_size")}
    options["seed"] = 100 * given["repeat"]
    if given["way"] == "serial":
        train = plain_sgd
    else:
        from hogwild import hogwild as train

        options["num_processes"] = given["processes"]
    model = Net()
    begin_s = time.perf_counter()
    model = train(model, training_set, **options)
    time_s = time.perf_counter() - begin_s
    report(
        time_s=time_s,
        accuracy=accuracy(model, test_set),
        network=NETWORK,
        epochs=given["epochs"],
    )


if __name__ == "__main__":  # a process that is spawned imports this again
    main()
