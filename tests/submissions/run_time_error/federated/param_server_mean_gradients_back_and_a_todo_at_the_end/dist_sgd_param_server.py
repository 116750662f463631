"""Data-parallel training with a parameter server: rank 0 steps, all others compute gradients."""

import numpy as np
import torch
import torch.nn as nn
from mpi4py import MPI
from utils import Net, create_dataloader, load_data, require_connected, set_random_seed

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()

SERVER = 0
NUM_EPOCHS = 3
BATCH_SIZE = 100
STOP = None  # sent instead of a batch when none is left


def get_grads(model):
    return [p.grad.detach().numpy().copy() for p in model.parameters()]


def set_grads(model, grads):
    for p, g in zip(model.parameters(), grads):
        p.grad = torch.from_numpy(g)


def serve_batch(model, optimizer, x, y):
    """On the server: have the workers compute one batch, take a step, and return the mean loss.

    Each worker gets int(batch / workers) examples, and sends back its loss and gradients.
    """
    workers = list(range(1, size))
    chunk = int(len(x) / len(workers))
    xs, ys = x.numpy(), y.numpy()
    for i, w in enumerate(workers):
        part = slice(i * chunk, (i + 1) * chunk)
        comm.send((xs[part], ys[part]), dest=w)

    answers = [comm.recv(source=w) for w in workers]
    losses = [a[0] for a in answers]
    grads = [a[1] for a in answers]

    # mean over the workers, parameter by parameter (all slices are the same size)
    mean_grads = [np.mean(per_param, axis=0) for per_param in zip(*grads)]

    # everybody does the same step with the mean gradients
    for w in workers:
        comm.send(mean_grads, dest=w)
    set_grads(model, mean_grads)
    optimizer.step()
    return sum(losses) / len(losses)


def serve_end():
    """On the server: tell the workers that there are no more batches."""
    # TODO: send STOP to every worker
    raise NotImplementedError("dist_sgd_param_server.py: TODO: send STOP to every worker")


def work(model):
    """On a worker: compute the loss and gradients of each slice, until the server sends STOP."""
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    batch = comm.recv(source=SERVER)
    while batch is not STOP:
        x, y = batch
        optimizer.zero_grad()
        loss = loss_fn(model(torch.from_numpy(x)), torch.from_numpy(y))
        loss.backward()
        comm.send((loss.item(), get_grads(model)), dest=SERVER)

        # get the mean gradients and update model
        set_grads(model, comm.recv(source=SERVER))
        optimizer.step()

        batch = comm.recv(source=SERVER)


def accuracy(model, loader):
    """Return the share of the loader's examples that the model classifies correctly."""
    num_right = num_examples = 0
    with torch.no_grad():
        for x, y in loader:
            num_right += (model(x).argmax(dim=1) == y).sum().item()
            num_examples += len(y)
    return num_right / num_examples


if __name__ == "__main__":
    require_connected()
    # The same seed everywhere: the workers start with the model that the server starts with.
    set_random_seed(42)
    model = Net()

    if rank == SERVER:
        train, test = load_data()
        train_loader, test_loader = create_dataloader(train, test, BATCH_SIZE)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        for epoch in range(NUM_EPOCHS):
            running_loss = 0.0
            for x, y in train_loader:
                running_loss += serve_batch(model, optimizer, x, y)
            print(f"epoch {epoch + 1}: loss {running_loss / len(train_loader):.4f}")
        serve_end()
        print(f"test accuracy {accuracy(model, test_loader):.1%}")
    else:
        work(model)
