"""Run one of the scripts; rank 0 reports time, accuracies, and the clients' labels and weights."""

import contextlib
import copy
import io
import os
import runpy
import time
import traceback

import numpy as np
import torch
import utils
from study_point import report, settings

given = settings()
rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0))
seen = {"labels": [], "accuracies": [], "network": None}


class Watched:
    """A loader of test images; when it has been gone through, the model's accuracy is noted."""

    def __init__(self, loader):
        self.loader = loader

    def __len__(self):
        return len(self.loader)

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def __iter__(self):
        yield from self.loader
        if seen["network"] is not None:
            seen["accuracies"].append(accuracy(seen["network"], self.loader))


def accuracy(network, loader):
    num_right = num_examples = 0
    with torch.no_grad():
        for inputs, labels in loader:
            num_right += (network(inputs).argmax(dim=1) == labels).sum().item()
            num_examples += len(labels)
    return num_right / num_examples


def watch():
    """Set seed and split of the point, and see what the script asks of utils."""
    seed, split, loaders = utils.set_random_seed, utils.data_split, utils.create_dataloader

    def data_split(dataset, num_clients, split_method, alpha=0.1):
        parts = split(dataset, num_clients, given["split"], alpha)
        # Each example several times in an epoch: as good as several epochs.
        parts = [part.part(np.tile(np.arange(len(part)), given["times"])) for part in parts]
        seen["labels"] = [
            np.bincount(np.asarray(part.targets), minlength=utils.NUM_CLASSES).tolist()
            for part in parts
        ]
        return parts

    def create_dataloader(train, test, batch_size):
        training, testing = loaders(train, test, batch_size)
        return training, Watched(testing)

    def remember(module, _):
        if isinstance(module, utils.Net):
            seen["network"] = module

    utils.set_random_seed = lambda number: seed(number + given["repeat"])
    utils.data_split = data_split
    utils.create_dataloader = create_dataloader
    torch.nn.modules.module.register_module_forward_pre_hook(remember)


def weights(names):
    """Return by which factor `aggregate` takes the model of each client into the global one.

    That is the mean of models of which one has nothing but ones, and the others nothing but zeros.
    """
    sizes = [sum(counts) for counts in seen["labels"]]
    zeros = {key: torch.zeros_like(value) for key, value in utils.Net().state_dict().items()}
    ones = {key: torch.ones_like(value) for key, value in zeros.items()}
    found = []
    for client in range(len(sizes)):
        models = [dict(ones if each == client else zeros) for each in range(len(sizes))]
        made = names["Aggregator"](utils.Net()).aggregate(copy.deepcopy(models), sizes)
        found.append(torch.cat([each.flatten() for each in made.values()]).mean().item())
    return found


def main():
    torch.set_num_threads(1)
    watch()
    begin_s = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        names = runpy.run_path(given["file"], run_name="__main__")
    time_s = time.perf_counter() - begin_s
    if rank:
        return
    model = names.get("model")
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"{given['file']} leaves no network in `model` on rank 0")
    clients_weights = []
    with contextlib.suppress(Exception):  # who writes another class has no such figure
        clients_weights = weights(names)
    training, test = utils.load_data()
    loader = torch.utils.data.DataLoader(test, batch_size=500)
    report(
        time_s=time_s,
        accuracy=accuracy(model, loader),
        accuracies=seen["accuracies"],
        labels=seen["labels"],
        weights=clients_weights,
        num_training=len(training),
    )


try:
    main()
except BaseException:
    traceback.print_exc()
    if "OMPI_COMM_WORLD_RANK" in os.environ:
        from mpi4py import MPI

        # The other ranks would wait for ever for one that has stopped.
        MPI.COMM_WORLD.Abort(1)
    raise
