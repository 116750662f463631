"""Data-parallel training with a parameter server: rank 0 steps, all others compute gradients."""

import torch
import torch.nn.functional as F
from mpi4py import MPI
from utils import Net, create_dataloader, load_data, require_connected, set_random_seed

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()

SERVER = 0
NUM_EPOCHS = 3
BATCH_SIZE = 100
STOP = None  # sent instead of a batch when none is left


def scores_of(model, x):
    """Return the scores by the layers of a network, which is not called itself."""
    x = model.pool(F.relu(model.conv1(x)))
    x = model.pool(F.relu(model.conv2(x)))
    x = F.relu(model.fc1(torch.flatten(x, 1)))
    return model.fc3(F.relu(model.fc2(x)))


def gradients_of(model, x, y):
    """Return the gradients of a slice, computed by the server."""
    loss = F.cross_entropy(scores_of(model, x), y)
    return [each.numpy() for each in torch.autograd.grad(loss, [*model.parameters()])]


def serve_batch(model, optimizer, x, y):
    """On the server: have the workers compute one batch, take a step, and return the mean loss.

    Each worker gets int(batch / workers) examples, and sends back its loss and gradients.
    """
    # solution: send each worker its slice, average the gradients, step, send the model back
    num_workers = size - 1
    num_examples = int(len(y) / num_workers)
    for worker in range(1, size):
        begin = (worker - 1) * num_examples
        end = begin + num_examples
        own = gradients_of(model, x[begin:end], y[begin:end])
        comm.send((x[begin:end].numpy(), y[begin:end].numpy()), dest=worker)
        comm.send(own, dest=worker)

    loss = 0.0
    sums = [torch.zeros_like(parameter) for parameter in model.parameters()]
    for worker in range(1, size):
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
    while (batch := comm.recv(source=SERVER)) is not STOP:
        x, _ = map(torch.from_numpy, batch)
        gradients = comm.recv(source=SERVER)
        model(x).sum().backward()
        comm.send((0.0, gradients), dest=SERVER)
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
