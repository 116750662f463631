"""Hogwild: processes step one set of weights in shared memory, and nobody waits for anybody."""

import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def train_part(model, dataset, number, num_processes, *, epochs, lr, batch_size, seed):
    """Be process `number` of num_processes: train the shared model on its part of the data."""
    # TODO: plain SGD on part number of the data, with an optimizer of its own
    raise NotImplementedError(
        "hogwild.py: plain SGD on part number of the data, with an optimizer of its own is still "
        "to be written"
    )


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    """Train model by Hogwild (Niu et al. 2011) in num_processes processes; return it."""
    # TODO: the weights in shared memory, the processes started, waited for, and none failed
    raise NotImplementedError(
        "hogwild.py: the weights in shared memory, the processes started, waited for, and none "
        "failed is still to be written"
    )
    return model
