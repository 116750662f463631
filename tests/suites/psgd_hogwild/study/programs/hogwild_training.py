"""Train by Hogwild, or by plain SGD in this process; report time and accuracy."""

import time

import torch
import torch._dynamo
from network import Net
from study_point import report, settings
from training import accuracy, digits

given = settings()


def main():
    torch.set_num_threads(1)
    training_set, test_set = digits()
    torch.manual_seed(given["repeat"])
    options = {name: given[name] for name in ("epochs", "lr", "batch_size")}
    options["seed"] = 100 * given["repeat"]
    if given["way"] == "serial":
        from main import sgd as train
    else:
        from hogwild import hogwild as train

        options["num_processes"] = given["processes"]
    model = Net()
    begin_s = time.perf_counter()
    model = train(model, training_set, **options)
    time_s = time.perf_counter() - begin_s
    report(time_s=time_s, accuracy=accuracy(model, test_set))


if __name__ == "__main__":  # a process that is spawned imports this again
    main()
