"""Parallel SGD over MPI: every rank learns from its own data, at the end weights are averaged."""

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

    # TODO: the same start on all ranks, namely the weights of rank 0
    raise NotImplementedError(
        "psgd.py: the same start on all ranks, namely the weights of rank 0 is still to be written"
    )

    # TODO: plain SGD on the part of the data that belongs to this rank, without a message
    raise NotImplementedError(
        "psgd.py: plain SGD on the part of the data that belongs to this rank, without a message "
        "is still to be written"
    )

    # TODO: the mean over all ranks of every parameter, on every rank
    raise NotImplementedError(
        "psgd.py: the mean over all ranks of every parameter, on every rank is still to be written"
    )
    return model
