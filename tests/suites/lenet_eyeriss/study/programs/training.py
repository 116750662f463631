"""Train LeNet-5 with one average_gradients; every rank reports its own accuracies by epoch."""

import importlib
import os
import time

import torch
import torch.distributed as dist
import train
from lenet import LeNet5
from study_point import report, settings
from torch.nn.functional import cross_entropy

given = settings()
torch.set_num_threads(1)


def measured(model, examples):
    """Return loss and accuracy."""
    with torch.no_grad():
        outputs = model(examples[0])
        accuracy = (outputs.argmax(1) == examples[1]).float().mean().item()
        return cross_entropy(outputs, examples[1]).item(), accuracy


def fit(rank, size, average_gradients, num_epochs, examples):
    """Train for so many epochs; return the curves of rank 0, of others the last epoch alone."""
    training, validation = examples
    own = train.part_of(training, rank, size)
    torch.manual_seed(given["repeat"])  # the same start weights on every rank
    model = LeNet5()
    optimizer = torch.optim.SGD(model.parameters(), lr=given["learning_rate"])
    curves = {"epoch": [], "time_s": [], "loss": [], "accuracy": []}
    time_s = 0.0
    for epoch in range(1, num_epochs + 1):
        begin_s = time.perf_counter()
        optimizer.zero_grad()
        cross_entropy(model(own[0]), own[1]).backward()
        average_gradients(model)
        optimizer.step()
        time_s += time.perf_counter() - begin_s
        if epoch % given["every"] and epoch not in (1, num_epochs):
            continue
        if rank == 0:
            loss, accuracy = measured(model, training)
            for name, value in zip(curves, (epoch, time_s, loss, accuracy), strict=True):
                curves[name].append(value)
        if size > 1:
            dist.barrier()  # nobody's clock runs while process 0 measures
    return {
        **curves,
        "run_time_s": time_s,
        "own_accuracy": measured(model, own)[1],
        "validation": measured(model, validation)[1],
    }


class WrongResult(Exception):
    """Raised where a gradient is not the mean."""


def check(rank, size, average_gradients, examples):
    """Compare one mean of gradients with that of all parts, which every rank computes alone."""
    torch.manual_seed(0)
    model = LeNet5()
    parts = [train.part_of(examples[0], each, size) for each in range(size)]
    for inputs, labels in parts:
        (cross_entropy(model(inputs), labels) / size).backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    inputs, labels = parts[rank]
    cross_entropy(model(inputs), labels).backward()
    average_gradients(model)
    for (name, parameter), mean in zip(model.named_parameters(), expected, strict=True):
        if parameter.grad is None or not torch.allclose(parameter.grad, mean, 1e-3, 1e-6):
            raise WrongResult(f"the gradient of {name} on process {rank} of {size} is not the mean")


def main():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    # A script may start its process group where it is imported.
    found = importlib.import_module(given["module"]).average_gradients
    if not dist.is_initialized():
        dist.init_process_group("gloo", rank=rank, world_size=size)
    examples = train.load_examples()
    check(rank, size, found, examples)
    # In a first epoch connections are made: it would not time the method.
    fit(rank, size, found, 1, examples)
    report(rank, **fit(rank, size, found, given["epochs"], examples))
    dist.barrier()


main()
