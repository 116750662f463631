"""Hogwild: processes update one set of weights in shared memory, and none waits for another."""

import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def train_part(model, dataset, number, num_processes, *, epochs, lr, batch_size, seed):
    """Be process `number` of num_processes: train the shared model on its part of the data."""
    # TODO: train on part `number` of the data by plain SGD, with its own optimizer
    raise NotImplementedError(
        "hogwild.py: TODO: train on part `number` of the data by plain SGD, with its own optimizer"
    )


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    """Train model by Hogwild (Niu et al. 2011) in num_processes processes; return it."""
    # TODO: share the weights, start the processes, wait for them, check that none failed
    raise NotImplementedError(
        "hogwild.py: TODO: share the weights, start the processes, wait for them, check that none "
        "failed"
    )
    return model
