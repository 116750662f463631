import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss

def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    raise NotImplementedError("first hogwild")
