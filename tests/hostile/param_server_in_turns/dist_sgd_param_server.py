"""Data-parallel training with a parameter server: rank 0 steps, all others compute gradients."""

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


def serve_batch(model, optimizer, x, y):
    """On the server: have the workers compute one batch, take a step, and return the mean loss.

    Each worker gets int(batch / workers) examples, and sends back its loss and gradients.
    """
    num_workers = size - 1
    num_examples = int(len(y) / num_workers)
    loss = 0.0
    sums = [torch.zeros_like(parameter) for parameter in model.parameters()]
    for worker in range(1, size):
        begin = (worker - 1) * num_examples
        end = begin + num_examples
        comm.send((x[begin:end].numpy(), y[begin:end].numpy()), dest=worker)

        worker_loss, gradients = comm.recv(source=worker)
        loss += worker_loss / num_workers
        for summed, gradient in zip(sums, gradients, strict=True):
            summed += torch.from_numpy(gradient)
    for parameter, summed in zip(model.parameters(), sums, strict=True):
        parameter.grad = summed / num_workers
    optimizer.step()

    for worker in range(1, size):
        comm.send(model.state_dict(), dest=worker)
    return loss
    # end of solution


def serve_end():
    """On the server: tell the workers that there are no more batches."""
    # solution: send STOP to every worker
    for worker in range(1, size):
        comm.send(STOP, dest=worker)
    # end of solution


def work(model):
    """On a worker: compute the loss and gradients of each slice, until the server sends STOP."""
    # solution: until STOP arrives, receive a slice, send loss and gradients, load the model
    criterion = nn.CrossEntropyLoss()
    while (batch := comm.recv(source=SERVER)) is not STOP:
        x, y = map(torch.from_numpy, batch)
        model.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        gradients = [parameter.grad.numpy() for parameter in model.parameters()]
        comm.send((loss.item(), gradients), dest=SERVER)
        model.load_state_dict(comm.recv(source=SERVER))
    # end of solution


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
