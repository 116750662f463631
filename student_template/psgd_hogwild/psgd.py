"""Parallel SGD over MPI: ranks learn from their own data; their weights are averaged at the end."""

import numpy as np
import torch
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss


def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    """Train model by SimuParallelSGD (Zinkevich et al. 2010) on all ranks of comm; return it.

    Every rank calls this with a model of the same shape and with the whole dataset. All ranks
    return the same weights: the mean of what each has learned from its part of the data.
    """
    rank = comm.Get_rank()
    size = comm.Get_size()

    # TODO: start all ranks from the weights of rank 0
    raise NotImplementedError("psgd.py: TODO: start all ranks from the weights of rank 0")

    # TODO: train on this rank's part of the data by plain SGD, without any message
    raise NotImplementedError(
        "psgd.py: TODO: train on this rank's part of the data by plain SGD, without any message"
    )

    # TODO: put the mean over all ranks into every parameter, on every rank
    raise NotImplementedError(
        "psgd.py: TODO: put the mean over all ranks into every parameter, on every rank"
    )
    return model
