"""Data-parallel training with a parameter server: rank 0 steps, all others compute gradients."""

import torch
import torch.nn as nn
from mpi4py import MPI
from utils import Net, create_dataloader, load_data, require_connected, set_random_seed

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()

SERVER = 0
BATCH_SIZE = 100


def serve(model, x, y):
    """On the server: have the workers compute one batch, and take the step."""
    workers = range(1, size)
    length = int(len(y) / len(workers))
    for worker in workers:
        part = slice((worker - 1) * length, worker * length)
        comm.send((x[part].numpy(), y[part].numpy()), dest=worker)
    received = [comm.recv(source=worker) for worker in workers]
    with torch.no_grad():
        for parameter, *gradients in zip(model.parameters(), *received):
            parameter -= 0.01 * torch.from_numpy(sum(gradients) / len(workers))


def work(model):
    """On a worker: compute the gradients of the slice that comes."""
    x, y = map(torch.from_numpy, comm.recv(source=SERVER))
    nn.CrossEntropyLoss()(model(x), y).backward()
    comm.send([parameter.grad.numpy() for parameter in model.parameters()], dest=SERVER)


if __name__ == "__main__":
    require_connected()
    set_random_seed(42)
    model = Net()
    if rank == SERVER:
        train_loader, _ = create_dataloader(*load_data(), BATCH_SIZE)
        serve(model, *next(iter(train_loader)))
    else:
        work(model)
