import numpy as np
import torch
from mpi4py import MPI
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from training import loss


def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    """Everything in one flattened vector, on a communicator of its own."""
    mine = comm.Dup()
    start = parameters_to_vector(model.parameters()).detach().numpy().copy()
    mine.Ibcast(start, root=0).Wait()
    vector_to_parameters(torch.from_numpy(start), model.parameters())

    inputs = torch.stack([x for x, _ in dataset])
    labels = torch.tensor([int(y) for _, y in dataset])
    rows = np.array_split(np.random.default_rng(seed).permutation(len(dataset)), mine.size)[mine.rank]
    for _ in range(epochs):
        for at in range(0, len(rows), batch_size):
            batch = torch.from_numpy(rows[at:at + batch_size])
            gradients = torch.autograd.grad(loss(model(inputs[batch]), labels[batch]), list(model.parameters()))
            with torch.no_grad():
                for p, g in zip(model.parameters(), gradients):
                    p.add_(g, alpha=-lr)

    own = parameters_to_vector(model.parameters()).detach().numpy()
    everybody = np.empty((mine.size, own.size), own.dtype)
    mine.Allgather(own, everybody)
    vector_to_parameters(torch.from_numpy(everybody.mean(axis=0)), model.parameters())
    mine.Free()
    return model
