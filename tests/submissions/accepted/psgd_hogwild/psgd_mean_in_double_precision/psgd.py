import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from torch.utils.data import DataLoader, Subset
from training import loss

from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils.data import random_split


def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    rank, size = comm.Get_rank(), comm.Get_size()
    flat = parameters_to_vector(model.parameters()).detach().numpy()
    comm.Bcast([flat, MPI.FLOAT], root=0)
    vector_to_parameters(torch.from_numpy(flat.copy()), model.parameters())

    lengths = [len(dataset) // size + (r < len(dataset) % size) for r in range(size)]
    part = random_split(dataset, lengths, torch.Generator().manual_seed(seed))[rank]
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    model.train()
    for _ in range(epochs):
        for x, y in DataLoader(part, batch_size=batch_size, shuffle=True):
            opt.zero_grad()
            F.nll_loss(torch.log(model(x)), y).backward()
            opt.step()

    flat = parameters_to_vector(model.parameters()).detach().numpy() / np.float32(size)
    total = np.zeros(flat.shape)
    comm.Allreduce(flat.astype(np.float64), total)
    vector_to_parameters(torch.from_numpy(total).float(), model.parameters())
    return model
